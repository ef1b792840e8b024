#if UDP
    import MeshBase
    import MeshSecurity
    import MeshTransport
    import NIOCore
    import NIOSSL

    /// One connection to a peer, from the first byte to the last.
    ///
    /// It proves the peer's identity, exchanges hellos, and then carries both lanes. Confined to the event loop, except
    /// for `send`, which any thread may call. The hub handles everything that involves other connections.
    final class PeerConnection: SecuredConnection, @unchecked Sendable {
        enum Phase {
            /// The TLS handshake is in progress.
            case proving
            /// The peer has proven its identity, and its hello is awaited.
            case awaitingHello
            /// The lanes are open. The hub has reported the connection to the observer, or is about to.
            case connected
            case ended
        }

        let number: Int
        let isDialedHere: Bool
        let remote: String
        let remoteAddress: SocketAddress?
        /// The peer that must be there; nil for any trusted peer.
        let expected: PeerID?
        let channel: any Channel
        let hub: LinkHub
        var phase = Phase.proving
        private(set) var peer: PeerID?
        private(set) var hello: Hello?
        /// The source address, while the connection counts as unproven.
        var admittedFrom: String?
        /// The try that led to this connection, if this side dialed.
        var dial: DialRound.Try?
        /// The peer's goodbye.
        private(set) var goodbye: Goodbye?
        /// The reason for which the peer's key was refused.
        private var keyRejection: (code: UDPRefusal.Code, peer: PeerID?)?
        private var tls: NIOSSLHandler?
        private(set) var gate: UnprovenGate?
        private let publicKey: [UInt8]
        private var decoder = RecordDecoder()
        var timer: Scheduled<Void>?

        // Set once connected.
        var address: LinkAddress = ""
        /// True if the peer was admitted as a guest.
        var isGuest = false
        var connectedAt = Duration.zero
        var agreement: DatagramKeyAgreement?
        var outbox: Locked<Outbox>?
        var sealer: DatagramSealer?
        var opener: DatagramOpener?
        var heartbeat: Heartbeat?
        var path: DatagramPath?
        var route: DatagramRoute?
        /// The goodbye to send once everything accepted has been written.
        var pendingGoodbye: Goodbye?

        init(
            _ channel: any Channel, number: Int, isDialedHere: Bool, expected: PeerID?, remoteAddress: SocketAddress?,
            remote: String, hub: LinkHub
        ) {
            self.channel = channel
            self.number = number
            self.isDialedHere = isDialedHere
            self.expected = expected
            self.remoteAddress = remoteAddress
            self.remote = remote
            self.hub = hub
            let agreement = DatagramKeyAgreement()
            publicKey = agreement.publicKey
            self.agreement = consume agreement
        }

        /// Builds the pipeline and starts the timer for the handshake.
        func prepare(_ policy: TLSPolicy) throws {
            let gate = UnprovenGate(bytesMax: hub.configuration.bounds.unprovenBytesMax) { [weak self] in
                self?.refuse(.oversizedHandshake, "it sent too much before it proved its identity")
            }
            let tls = try policy.handler(isServer: !isDialedHere) { [weak self] in self?.evaluate($0) ?? false }
            try channel.pipeline.syncOperations.addHandlers([gate, tls, SecuredHandler(self)])
            self.gate = gate
            self.tls = tls
            timer = hub.after(hub.configuration.times.handshake) { [weak self] in
                self?.refuse(.slowHandshake, "it didn't prove its identity in time")
            }
        }
    }

    // MARK: - Proof of identity

    extension PeerConnection {
        /// Decides on the peer's key. Called during a full handshake, and again after every handshake.
        private func evaluate(_ id: PeerID?) -> Bool {
            guard let id else {
                keyRejection = (.noCertificate, nil)
                return false
            }
            if let expected, expected != id {
                keyRejection = (.wrongPeer, id)
                return false
            }
            // Our own identity may send a hello, which shows if it is this link or a copy of its key.
            guard id == hub.configuration.identity.peerID || hub.isAdmitted(id) else {
                keyRejection = (.unknownPeer, id)
                return false
            }
            keyRejection = nil
            return true
        }

        func handshakeCompleted(protocol name: String?) {
            guard phase == .proving else { return }
            guard name == TLSPolicy.session else {
                return refuse(.noProtocol, "it speaks the protocol '\(name ?? "")' instead of '\(TLSPolicy.session)'")
            }
            let id = tls.flatMap(TLSPolicy.peerID)
            guard evaluate(id), let id else { return refuseRejectedKey() }
            peer = id
            phase = .awaitingHello
            gate?.open()
            guard hub.didProvePeer(self) else { return }
            var buffer = channel.allocator.buffer(capacity: 128)
            buffer.write(
                Hello(
                    startID: hub.startID, publicKey: publicKey, datagramPort: hub.datagramPort,
                    features: Hello.bundles | Hello.patience))
            channel.writeAndFlush(buffer, promise: nil)
        }

        private func refuseRejectedKey() {
            let code = keyRejection?.code ?? .handshakeFailed
            let message =
                switch code {
                case .unknownPeer: "its key belongs to neither a trusted peer nor a guest"
                case .wrongPeer: "\(expected?.description ?? "another peer") was expected there"
                default: "it didn't present a key"
                }
            refuse(code, message, of: keyRejection?.peer)
        }

        /// Refuses the connection and closes it without telling the other side why.
        func refuse(_ code: UDPRefusal.Code, _ message: String, of id: PeerID? = nil) {
            guard phase == .proving || phase == .awaitingHello else { return }
            hub.refused(
                UDPRefusal(
                    code: code, remote: remote, peerID: id ?? peer, isDialedHere: isDialedHere, message: message))
            end(nil, saying: nil)
        }

        private static let refusal = "it ended the connection before its hello; it may not trust this device"

        func failed(_ error: any Error) {
            switch phase {
            case .proving where keyRejection != nil: refuseRejectedKey()
            case .proving:
                let code = UDPRefusal.Code(handshake: error)
                refuse(code, code == .refusedByPeer ? Self.refusal : "\(error)")
            // A TLS 1.3 client learns that the server refuses it only after the handshake.
            case .awaitingHello: refuse(.refusedByPeer, Self.refusal)
            case .connected: end("the connection failed: \(error)", saying: nil)
            case .ended: gate?.abort()
            }
        }

        func closed() {
            switch phase {
            case .proving, .awaitingHello: end(nil, saying: nil)
            case .connected: end("the connection closed without a goodbye", saying: nil)
            case .ended: break
            }
            timer?.cancel()
            hub.closed(self)
        }
    }

    // MARK: - Receiving

    extension PeerConnection {
        func read(_ bytes: ByteBuffer) {
            guard phase == .awaitingHello || phase == .connected else { return }
            heartbeat?.noteReceived(hub.now)
            decoder.append(bytes)
            do throws(RecordDecoder.Failure) {
                while phase != .ended, let record = try decoder.next() { handle(record) }
            } catch {
                failProtocol("\(error)")
            }
        }

        private func handle(_ record: Record) {
            guard phase == .connected else { return handleFirst(record) }
            switch record {
            case .hello: failProtocol("a second hello")
            case .stream(let bytes): bytes.withUnsafeReadableBytes { hub.received($0, on: .stream, from: address) }
            case .datagram(let bytes):
                guard bytes.readableBytes <= PayloadLimit.udpSealed.bytes else {
                    return failProtocol("an oversized datagram")
                }
                bytes.withUnsafeReadableBytes { hub.received($0, on: .datagram, from: address) }
                if path?.noteFallback(hub.now) == true { scheduleTick() }
            case .ping: sendRecord(.pong)
            case .pong, .unknown: break
            case .datagramsReceived:
                path?.noteConfirmation(hub.now)
                updateDatagramPath()
                scheduleTick()
            case .goodbye(let goodbye): leave(goodbye)
            }
        }

        private func handleFirst(_ record: Record) {
            switch record {
            case .hello(let hello):
                self.hello = hello
                decoder.bodyBytesMax = RecordDecoder.bodyBytesMax
                hub.receivedHello(hello, from: self)
            case .goodbye(let goodbye):
                self.goodbye = goodbye
                hub.refused(
                    UDPRefusal(
                        code: goodbye.refusal, remote: remote, peerID: peer, isDialedHere: isDialedHere,
                        message: "it ended the connection: \(goodbye)"))
                end(nil, saying: nil)
            default: failProtocol("its first record isn't a hello")
            }
        }

        private func leave(_ goodbye: Goodbye) {
            self.goodbye = goodbye
            let isOrderly = goodbye.code == .closing || goodbye.code == .duplicate
            end(isOrderly ? nil : "the other side ended the connection: \(goodbye)", saying: nil)
        }

        private func failProtocol(_ violation: String) {
            if phase == .awaitingHello { return refuse(.protocolError, violation) }
            end(
                "the other side broke the protocol: \(violation)",
                saying: Goodbye(code: .protocolError, detail: violation))
        }
    }
#endif
