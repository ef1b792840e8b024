#if UDP
    import Foundation
    import MeshBase
    import MeshLocalNetworkLab
    import MeshSecurity
    import MeshTestSupport
    import MeshTransport
    import NIOCore
    import NIOPosix
    import NIOSSL

    @testable import MeshUDPTransport

    /// The other end of a connection, controlled byte by byte: an attacker or another implementation.
    final class RawPeer: Sendable {
        /// The security parameters of its handshake.
        struct Security {
            var identity: PeerIdentity?
            var certificate: [UInt8]?
            var protocols = [TLSPolicy.session]
            var newest = TLSVersion.tlsv13
        }

        private struct State {
            var records: [Record] = []
            var bytes: [UInt8] = []
            var isClosed = false
            var decoder = RecordDecoder()
        }

        let channel: any Channel
        private let state: Locked<State>

        private init(_ channel: any Channel, _ state: Locked<State>) {
            self.channel = channel
            self.state = state
        }

        /// - Parameters:
        ///   - security: nil for a connection without TLS.
        ///   - source: the local address.
        static func connect(
            to port: UInt16, _ security: Security?, from source: String = "127.0.0.1"
        ) async throws -> RawPeer {
            let state = Locked(State())
            let context = try security.map { try NIOSSLContext(configuration: configuration($0)) }
            let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .bind(to: SocketAddress(ipAddress: source, port: 0))
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        if let context {
                            try channel.pipeline.syncOperations.addHandler(
                                NIOSSLClientHandler(context: context, serverHostname: nil))
                        }
                        try channel.pipeline.syncOperations.addHandler(Reader(state))
                    }
                }
                .connect(host: "127.0.0.1", port: Int(port)).get()
            return RawPeer(channel, state)
        }

        private static func configuration(_ security: Security) throws -> TLSConfiguration {
            var configuration = TLSConfiguration.makeClientConfiguration()
            configuration.certificateVerification = .none
            configuration.minimumTLSVersion = .tlsv12
            configuration.maximumTLSVersion = security.newest
            configuration.applicationProtocols = security.protocols
            guard let identity = security.identity else { return configuration }
            let certificate = try security.certificate ?? identity.makeCertificate()
            configuration.certificateChain = [.certificate(try NIOSSLCertificate(bytes: certificate, format: .der))]
            configuration.privateKey = .privateKey(try NIOSSLPrivateKey(bytes: identity.privateKeyDER, format: .der))
            return configuration
        }

        var isClosed: Bool { state.withLock { $0.isClosed } }
        var records: [Record] { state.withLock { $0.records } }
        var bytes: [UInt8] { state.withLock { $0.bytes } }

        /// The hello that the link has sent.
        var hello: Hello? {
            for case .hello(let hello) in records { return hello }
            return nil
        }

        var goodbye: Goodbye.Code? {
            for case .goodbye(let goodbye) in records { return goodbye.code }
            return nil
        }

        func write(_ bytes: [UInt8]) { channel.writeAndFlush(ByteBuffer(bytes: bytes), promise: nil) }

        func write(_ body: (inout ByteBuffer) -> Void) {
            var buffer = ByteBuffer()
            body(&buffer)
            channel.writeAndFlush(buffer, promise: nil)
        }

        /// Sends a hello as a link would.
        func greet(startID: UInt64 = 7, publicKey: [UInt8] = DatagramKeyAgreement().publicKey, datagramPort: UInt16 = 0)
        {
            write { $0.write(Hello(startID: startID, publicKey: publicKey, datagramPort: datagramPort)) }
        }

        func close() { channel.close(mode: .all, promise: nil) }

        private final class Reader: ChannelInboundHandler {
            typealias InboundIn = ByteBuffer

            private let state: Locked<State>

            init(_ state: Locked<State>) { self.state = state }

            func channelRead(context: ChannelHandlerContext, data: NIOAny) {
                let buffer = unwrapInboundIn(data)
                state.withLock { state in
                    state.bytes += Array(buffer.readableBytesView)
                    state.decoder.bodyBytesMax = RecordDecoder.bodyBytesMax
                    state.decoder.append(buffer)
                    while let record = try? state.decoder.next() { state.records.append(record) }
                }
            }

            func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
            func channelInactive(context: ChannelHandlerContext) { state.withLock { $0.isClosed = true } }
        }
    }

    /// Two peers with a connection that attacks must not affect, and a port for attackers.
    struct Victim {
        let phone: TestPeer
        let watch: TestPeer
        let network = InMemoryNetwork()
        private let sent = Locked<[UInt8]>([])

        init(_ change: @escaping (inout UDPLinkConfiguration) -> Void = { _ in }) async throws {
            (phone, watch) = try trustingPair(TestPeer(on: network, change: change), TestPeer(on: network))
            try phone.open()
            try watch.open()
            try await eventually("the good connection") { [phone, watch] in
                phone.recorder.isConnected && watch.recorder.isConnected
            }
            try await exchange()
        }

        var port: UInt16 { phone.link.port ?? 0 }

        /// Sends bytes both ways over the good connection.
        private func exchange() async throws {
            let count = sent.withLock { sent in
                sent += (0..<100).map { UInt8(truncatingIfNeeded: sent.count + $0) }
                return sent.count
            }
            let bytes = Array(sent.withLock { $0 }.suffix(100))
            try await phone.send(bytes)
            try await watch.send(bytes)
            try await eventually("messages over the good connection") {
                phone.recorder.bytes(on: .stream).count == count && watch.recorder.bytes(on: .stream).count == count
            }
        }

        /// True if the good connection is the original one, and has lost nothing.
        func isUnaffected() async throws -> Bool {
            try await exchange()
            let expected = sent.withLock { $0 }
            return phone.recorder.connectionCount == 1 && watch.recorder.connectionCount == 1
                && phone.recorder.bytes(on: .stream) == expected && watch.recorder.bytes(on: .stream) == expected
        }

        func refused(_ code: UDPRefusal.Code, count: Int = 1) async throws {
            try await eventually("\(count) times \(code), there is \(phone.refusals)") {
                phone.refusals.count { $0.code == code } >= count
            }
        }

        func close() async {
            await phone.link.close()
            await watch.link.close()
        }
    }
#endif
