#if UDP
    import MeshSecurity
    import NIOCore
    import NIOSSL

    /// One connection of a pairing window: TLS, with length-prefixed messages (2 bytes). Confined to the event loop.
    final class PairingConnection: SecuredConnection, @unchecked Sendable {
        let number: Int
        let isDialedHere: Bool
        let channel: any Channel
        private(set) var peer: PeerID?
        /// True if the other side has sent a message.
        private(set) var hasReceivedMessage = false
        private unowned let hub: PairingHub
        private var tls: NIOSSLHandler?
        private var gate: UnprovenGate?
        private var pending = ByteBuffer()
        private var hasEnded = false
        var timer: Scheduled<Void>?
        var admittedFrom: String?

        init(_ channel: any Channel, number: Int, isDialedHere: Bool, hub: PairingHub) {
            self.channel = channel
            self.number = number
            self.isDialedHere = isDialedHere
            self.hub = hub
        }

        func prepare(_ policy: TLSPolicy) throws {
            let gate = UnprovenGate(bytesMax: PairingHub.bytesMax) { [weak self] in self?.abort() }
            let own = hub.configuration.identity.peerID
            // Any key except our own is accepted here; the exchange decides on it.
            let tls = try policy.handler(isServer: !isDialedHere) { $0 != nil && $0 != own }
            try channel.pipeline.syncOperations.addHandlers([gate, tls, SecuredHandler(self)])
            self.gate = gate
            self.tls = tls
        }

        func handshakeCompleted(protocol name: String?) {
            guard name == TLSPolicy.pairing, let id = tls.flatMap(TLSPolicy.peerID),
                id != hub.configuration.identity.peerID
            else { return abort() }
            peer = id
            hub.didProvePeer(self)
        }

        func read(_ bytes: ByteBuffer) {
            pending.writeImmutableBuffer(bytes)
            while !hasEnded, let length = pending.getInteger(at: pending.readerIndex, as: UInt16.self) {
                guard length <= PairingExchange.messageBytesMax else { return hub.malformed(self) }
                guard pending.readableBytes >= 2 + Int(length) else { return }
                pending.moveReaderIndex(forwardBy: 2)
                guard let message = pending.readBytes(length: Int(length)) else { return }
                hasReceivedMessage = true
                hub.received(message, from: self)
            }
        }

        func send(_ message: [UInt8]) {
            guard !hasEnded else { return }
            var buffer = channel.allocator.buffer(capacity: 2 + message.count)
            buffer.writeInteger(UInt16(clamping: message.count))
            buffer.writeBytes(message)
            channel.writeAndFlush(buffer, promise: nil)
        }

        func failed(_ error: any Error) { abort() }

        func closed() { markEnded() }

        /// Closes the connection after everything sent has been delivered.
        func finish() {
            guard !hasEnded else { return }
            hasEnded = true
            timer?.cancel()
            channel.close(mode: .all, promise: nil)
        }

        func abort() {
            gate?.abort()
            markEnded()
        }

        private func markEnded() {
            timer?.cancel()
            let hadEnded = hasEnded
            hasEnded = true
            hub.ended(self, unexpectedly: !hadEnded)
        }
    }
#endif
