#if UDP
    import MeshBase
    import MeshDiscovery
    public import MeshSecurity
    import NIOCore
    import NIOPosix

    /// A time window in which this device and another come to trust each other's keys. Both users open one.
    ///
    /// ```swift
    /// let pairing = UDPPairing(UDPPairingConfiguration(
    ///     identity: identity, trustedPeers: peers, name: "Phone", method: .digits, discovery: MulticastDNS()))
    /// let peer = try await pairing.run { question in await show(question.code) }
    /// ```
    ///
    /// The other device is found by discovery or dialed at a known address. Both prove their keys by TLS, on a
    /// connection that carries nothing else and that no link accepts. Then `PairingExchange` decides. There is one
    /// exchange at a time and one try: once the other side has sent a message, the window ends with that exchange.
    public final class UDPPairing: Sendable {
        /// The configuration that the window was created with.
        public let configuration: UDPPairingConfiguration
        private let hub = Locked<PairingHub?>(nil)
        private let hasRun = Locked(false)

        /// Creates a window, which `run` opens.
        public init(_ configuration: UDPPairingConfiguration) { self.configuration = configuration }

        /// The port at which the other device reaches this window; nil unless it is open.
        public var port: UInt16? { hub.withLock { $0?.port } }

        /// Opens the window until a device is paired, the try has failed or the time is up. It can run only once.
        /// Cancelling the task closes the window.
        ///
        /// - Parameter compare: Asks the user whether the other device shows the same code. Called only with the method
        ///   `digits`. Returning false ends the window.
        /// - Returns: The other device, which is now a trusted peer.
        /// - Throws: `UDPPairingError`, `UDPLinkError` if the window can't listen, the errors of the discovery, or
        ///   `SecurityError` if the trusted peers can't be stored.
        public func run(
            compare: @escaping @Sendable (PairingQuestion) async -> Bool = { _ in false }
        ) async throws -> TrustedPeer {
            let isFirst = hasRun.withLock { hasRun in
                defer { hasRun = true }
                return !hasRun
            }
            guard isFirst else { throw UDPPairingError(.alreadyRun, "`run` was already called on this pairing window") }
            let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
            let result = await run(on: group.next(), compare)
            hub.withLock { $0 = nil }
            await configuration.discovery?.stop()
            try? await group.shutdownGracefully()
            return try result.get()
        }

        private func run(
            on loop: any EventLoop, _ compare: @escaping @Sendable (PairingQuestion) async -> Bool
        ) async -> Result<TrustedPeer, any Error> {
            do {
                let hub = try PairingHub(configuration, loop: loop, compare: compare)
                let outcome = try hub.open()
                self.hub.withLock { $0 = hub }
                return .success(
                    try await withTaskCancellationHandler {
                        try await outcome.get()
                    } onCancel: {
                        hub.cancel()
                    })
            } catch {
                return .failure(error)
            }
        }
    }

    /// A question for the user while two devices pair.
    public struct PairingQuestion: Hashable, Sendable {
        /// The six digits, which both devices show.
        public let code: String
        /// The ID of the other device's key.
        public let peerID: PeerID
    }
#endif
