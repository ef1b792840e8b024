#if MQTT || WebSocket
    import MeshSecurity

    /// Two peers with kept seals and no relay between them, for benchmarks.
    package struct KeptSealPair {
        private let (sender, receiver): (OwnKey, OwnKey)
        private let key: PeerKey
        private let topic: String
        private var sealer: KeptSealer
        private var opener: KeptOpener

        /// - Throws: `SecurityError`; errors of swift-crypto.
        package init() throws {
            let (sender, receiver) = (try OwnKey(PeerIdentity()), try OwnKey(PeerIdentity()))
            guard let key = PeerKey(receiver.compressedPublicKey, of: receiver.id) else {
                throw SecurityError(.invalidArgument, "an identity's key doesn't match its ID")
            }
            (self.sender, self.receiver, self.key) = (sender, receiver, key)
            topic = RelayTopic.queue(to: receiver.id, from: sender.id).name
            sealer = try KeptSealer(from: sender, to: key)
            opener = KeptOpener(from: sender.id, to: receiver)
        }

        package mutating func seal(_ bytes: [UInt8]) throws -> [UInt8] { try sealer.seal(bytes, for: topic) }

        @discardableResult package mutating func open(_ message: [UInt8]) throws -> [UInt8] {
            try message.withUnsafeBytes { try opener.open($0, from: topic) }
        }

        /// Drops the contexts, so that the next message costs a full HPKE setup, like the first one.
        package mutating func forgetContexts() throws {
            sealer = try KeptSealer(from: sender, to: key)
            opener = KeptOpener(from: sender.id, to: receiver)
        }
    }
#endif
