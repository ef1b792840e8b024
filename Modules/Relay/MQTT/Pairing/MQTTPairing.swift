#if MQTT
    import MeshBase
    public import MeshRelay
    public import MeshSecurity

    /// A time window in which two devices with the same secret, entered by a person, learn to trust each other's keys.
    /// They meet at a broker, so they may be on any network.
    ///
    /// ```swift
    /// let pairing = try MQTTPairing(
    ///     identity: identity, trustedPeers: peers, name: "Phone", secret: secret, broker: broker)
    /// let peer = try await pairing.run()
    /// ```
    ///
    /// A window allows one attempt. Use each `PairingSecret` for one pairing.
    public final class MQTTPairing: Sendable {
        /// The time for which the pairing window stays open.
        public static let window = PairingExchange.lifetime

        private typealias Outcome = Result<TrustedPeer, any Error>

        private struct State {
            var core: MQTTPairingCore
            var outcome: Outcome?
            var waiter: CheckedContinuation<Outcome, Never>?
            var hasRun = false
            var lastRefusal: String?
        }

        private let client: any RelayClient
        private let trustedPeers: TrustedPeers
        private let state: Locked<State>
        private let start = ContinuousClock.now

        /// Creates a pairing of two devices over a broker, with a secret that one shows and the other reads.
        ///
        /// - Parameters:
        ///   - trustedPeers: Receives the peer when the pairing succeeds.
        ///   - name: The name of this device, as shown to the other person.
        ///   - isOwn: True if the other device belongs to this user. Ask the user: sessions admit such a device without
        ///     an invitation.
        ///   - isAdministrator: True if losses that the other device reports need no confirmation here.
        ///   - makeClient: Creates a client other than libmosquitto's. Its session should end with its connection.
        /// - Throws: `MQTTError` with `invalidArgument`; errors of `makeClient`.
        public init(
            identity: PeerIdentity, trustedPeers: TrustedPeers, name: String, secret: PairingSecret, broker: MQTTBroker,
            isOwn: Bool = false, isAdministrator: Bool = false,
            makeClient: (@Sendable () throws -> any RelayClient)? = nil
        ) throws {
            try broker.requireSafePassword()
            self.trustedPeers = trustedPeers
            let clientID = "sessionmesh-pairing-\(UInt64.random(in: 0 ... .max))"
            client =
                try makeClient?() ?? MosquittoClient(broker: broker, clientID: clientID, sessionExpiry: .zero)
            state = Locked(
                State(
                    core: MQTTPairingCore(
                        secret: secret, own: identity.peerID, name: name, isOwn: isOwn,
                        isAdministrator: isAdministrator)))
        }

        /// Opens the window until a device is paired, the attempt fails or a minute has passed. Call it once.
        /// Cancelling the task closes the window.
        /// - Returns: The peer, which is now trusted.
        /// - Throws: `MQTTError`: `invalidArgument` on a second call, `timedOut`, `notPaired`; `CancellationError`;
        ///   `SecurityError` if the trusted peers can't be saved.
        public func run() async throws -> TrustedPeer {
            let isFirst = state.withLock { state in
                defer { state.hasRun = true }
                return !state.hasRun
            }
            guard isFirst else {
                throw MQTTError(.invalidArgument, "run() was already called; create a new MQTTPairing")
            }
            try client.open(PairingObserver(self))
            let timer = Task {
                try await Task.sleep(for: Self.window)
                let refusal = state.withLock { $0.lastRefusal }
                let reason = refusal.map { "; the last reason: \($0)" } ?? ""
                end(.failure(MQTTError(.timedOut, "no device was paired in time\(reason)")))
            }
            let outcome = await withTaskCancellationHandler {
                await withCheckedContinuation { wait($0) }
            } onCancel: {
                end(.failure(CancellationError()))
            }
            timer.cancel()
            // Sends the last message of the exchange.
            await client.close()
            return try outcome.get()
        }

        private func wait(_ waiter: CheckedContinuation<Outcome, Never>) {
            let outcome = state.withLock { state in
                if state.outcome == nil { state.waiter = waiter }
                return state.outcome
            }
            if let outcome { waiter.resume(returning: outcome) }
        }

        /// Sets the outcome. Only the first one counts.
        private func end(_ outcome: Outcome) {
            let waiter = state.withLock { state in
                if state.outcome == nil { state.outcome = outcome }
                return state.waiter.take()
            }
            waiter?.resume(returning: outcome)
        }
    }

    extension MQTTPairing {
        fileprivate var topic: String { state.withLock { $0.core.topic } }

        fileprivate func connected() { client.subscribe(to: [topic]) }

        fileprivate func subscribed() { perform(state.withLock { $0.core.subscribed() }) }

        fileprivate func received(_ bytes: UnsafeRawBufferPointer) {
            do {
                perform(try state.withLock { try $0.core.received(bytes, start.duration(to: .now)) })
            } catch {
                end(.failure(MQTTError(.notPaired, "pairing failed", cause: error)))
            }
        }

        fileprivate func refused(_ reason: String) { state.withLock { $0.lastRefusal = reason } }

        private func perform(_ steps: [MQTTPairingCore.Step]) {
            var trusted: TrustedPeer?
            for step in steps {
                switch step {
                case .publish(let bytes):
                    // If this fails, the next connection repeats only the announcement, so the pairing may time out.
                    try? client.publish(RelayMessage(topic: topic, bytes: bytes))
                case .paired(let peer):
                    do { try trustedPeers.trust(peer) } catch { return end(.failure(error)) }
                    trusted = peer
                }
            }
            if let trusted { end(.success(trusted)) }
        }
    }

    private final class PairingObserver: RelayClientObserver {
        private weak let pairing: MQTTPairing?

        init(_ pairing: MQTTPairing) { self.pairing = pairing }

        /// Returns an empty will: pairing needs none, and devices ignore empty messages.
        func nextWill() -> RelayMessage { RelayMessage(topic: pairing?.topic ?? "", bytes: [], isAcknowledged: false) }
        func connected() { pairing?.connected() }
        func subscribed() { pairing?.subscribed() }
        func received(_ bytes: UnsafeRawBufferPointer, on topic: String) { pairing?.received(bytes) }
        func writable() {}
        func refused(_ reason: String) { pairing?.refused(reason) }
        func disconnected(_ reason: String) { pairing?.refused(reason) }
    }
#endif
