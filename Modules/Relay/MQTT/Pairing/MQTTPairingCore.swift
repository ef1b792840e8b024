#if MQTT
    import Crypto
    import MeshRelay
    import MeshSecurity

    import MeshFoundation

    /// A pairing over a broker, as a value: both sides meet at a topic that only the secret leads to, and all that they say
    /// there is sealed with the secret. No clock and no I/O; randomness is the sealing's.
    ///
    ///     version 1 ‖ nonce 12 ‖ sealed(sender's id 32 ‖ message of PairingExchange, empty for "I am here") ‖ tag 16
    ///
    /// ChaCha20-Poly1305 under a key of HKDF-SHA256; the topic is authenticated. What does not open is of somebody who does
    /// not know the secret, and is ignored: the broker can keep two from pairing and nothing else. `PairingExchange` proves
    /// that both mean each other; that the other side has the key of its id, it proves in its first greeting.
    ///
    /// Bounds: `messagesMax` messages that open are taken, and no more.
    struct MQTTPairingCore: Sendable {
        enum Step: Equatable, Sendable {
            case publish([UInt8])
            case paired(TrustedPeer)
        }

        static let messagesMax = 64
        private static let nonceByteCount = 12
        private static let idByteCount = 32
        static let bytesMax =
            1 + nonceByteCount + idByteCount + PairingExchange.messageBytesMax + SealSuite.tagByteCount

        let topic: String
        private let secret: PairingSecret
        private let key: SymmetricKey
        private let own: PeerID
        private let name: String
        private let isOwn: Bool
        private let isAdministrator: Bool
        private var exchange: PairingExchange?
        private var remote: PeerID?
        /// What came before: brokers repeat.
        private var seen: Set<[UInt8]> = []

        init(secret: PairingSecret, own: PeerID, name: String, isOwn: Bool = false, isAdministrator: Bool = false) {
            self.secret = secret
            self.own = own
            self.name = name
            self.isOwn = isOwn
            self.isAdministrator = isAdministrator
            topic = RelayTopic.pairing(secret.derivedBytes("MQTT pairing topic", count: 16))
            key = SymmetricKey(data: secret.derivedBytes("MQTT pairing key", count: 32))
        }

        /// Says that this side is there, once it would hear an answer.
        func subscribed() -> [Step] { [.publish(sealed([]))] }

        /// - Throws: `PairingError`; the pairing is over then.
        mutating func received(_ bytes: UnsafeRawBufferPointer, _ now: Duration) throws(PairingError) -> [Step] {
            guard let (sender, message) = opened(bytes), sender != own, sender == remote ?? sender,
                seen.count < Self.messagesMax, seen.insert(Array(bytes)).inserted
            else { return [] }
            var steps: [Step] = []
            if exchange == nil { steps += try begin(with: sender, now) }
            if !message.isEmpty { steps += try perform(exchange?.receive(message, now: now) ?? []) }
            return steps
        }

        /// The lower id opens. The other side may have come after this one said that it is here.
        private mutating func begin(with sender: PeerID, _ now: Duration) throws(PairingError) -> [Step] {
            remote = sender
            var exchange = PairingExchange(
                method: .secret(secret), role: own < sender ? .initiator : .responder, local: own, remote: sender,
                localName: name, now: now)
            let steps = try exchange.begin()
            self.exchange = exchange
            return (own < sender ? [] : subscribed()) + (try perform(steps))
        }

        private func perform(_ steps: [PairingStep]) throws(PairingError) -> [Step] {
            steps.compactMap { step in
                switch step {
                case .send(let message): .publish(sealed(message))
                case .paired(let name):
                    remote.map { id in
                        .paired(TrustedPeer(id: id, name: name, isOwn: isOwn, isAdministrator: isAdministrator))
                    }
                // Of the other method.
                case .compare: nil
                }
            }
        }

        private func sealed(_ message: [UInt8]) -> [UInt8] {
            // Sealing so few bytes cannot fail.
            guard
                let box = try? ChaChaPoly.seal(
                    own.bytes + message, using: key, authenticating: Array(topic.utf8))
            else { return [] }
            return [SealSuite.version] + Array(box.combined)
        }

        private func opened(_ bytes: UnsafeRawBufferPointer) -> (sender: PeerID, message: [UInt8])? {
            guard bytes.count <= Self.bytesMax, bytes.first == SealSuite.version,
                let box = try? ChaChaPoly.SealedBox(combined: Array(bytes.dropFirst())),
                let opened = try? ChaChaPoly.open(box, using: key, authenticating: Array(topic.utf8)),
                let sender = PeerID(bytes: Array(opened.prefix(Self.idByteCount)))
            else { return nil }
            return (sender, Array(opened.dropFirst(Self.idByteCount)))
        }
    }
#endif
