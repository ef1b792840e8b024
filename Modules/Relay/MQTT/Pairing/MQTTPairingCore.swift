#if MQTT
    import Crypto
    import MeshRelay
    import MeshSecurity

    import MeshFoundation

    /// A pairing over a broker, without a clock or I/O; sealing draws random nonces. Both devices meet at a topic
    /// derived from the secret, and seal all messages with a key derived from it (HKDF-SHA256).
    ///
    ///     version 1 ‖ nonce 12 ‖ sealed(sender's id 32 ‖ message of PairingExchange, empty for "I am here") ‖ tag 16
    ///
    /// The seal is ChaCha20-Poly1305, and authenticates the topic. Messages that can't be opened come from devices
    /// without the secret, and are ignored. So the broker can prevent a pairing, but nothing else. `PairingExchange`
    /// proves to each device that the other one has the secret and uses the same two IDs. In its first hello, the peer
    /// proves that it has the key of its ID.
    ///
    /// At most `messagesMax` messages are processed.
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
        /// The messages received so far. Brokers may repeat them.
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

        /// Announces this device, once it can receive an answer.
        func subscribed() -> [Step] { [.publish(sealed([]))] }

        /// - Throws: `PairingError`, which ends the pairing.
        mutating func received(_ bytes: UnsafeRawBufferPointer, _ now: Duration) throws(PairingError) -> [Step] {
            guard let (sender, message) = opened(bytes), sender != own, sender == remote ?? sender,
                seen.count < Self.messagesMax, seen.insert(Array(bytes)).inserted
            else { return [] }
            var steps: [Step] = []
            if exchange == nil { steps += try begin(with: sender, now) }
            if !message.isEmpty { steps += try perform(exchange?.receive(message, now: now) ?? []) }
            return steps
        }

        /// Starts the exchange. The lower ID is the initiator. The responder announces itself again, because the other
        /// device may have missed it.
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
                // The step belongs to the other pairing method.
                case .compare: nil
                }
            }
        }

        private func sealed(_ message: [UInt8]) -> [UInt8] {
            // Sealing so few bytes can't fail.
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
