#if MQTT || WebSocket
    import Crypto
    import MeshSecurity

    import MeshFoundation

    // Messages that a relay may keep. Each can be opened separately, long after its sender has disconnected. Only a
    // sender's first message after its launch costs a key agreement.
    //
    //     version 1 ‖ sender's public key 33 ‖ encapsulated key 33 ‖ counter 8 ‖ ciphertext ‖ tag 16
    //
    // A context is made by HPKE in authenticated mode (RFC 9180, section 5.1.3), from the sender's key to the
    // receiver's. Its exporter (section 5.3) gives the key. ChaCha20-Poly1305 seals with the counter as nonce, and
    // authenticates the header and the topic. This deviates from RFC 9180, whose contexts count messages themselves and
    // can't open one after a gap. A relay does cause gaps.
    enum KeptSeal {
        static let headByteCount = 1 + 2 * SealSuite.pointByteCount
        static let headerByteCount = headByteCount + 8
        /// The number of bytes that sealing adds to a message.
        static let overhead = headerByteCount + SealSuite.tagByteCount

        static let purpose = "kept"
        static let exporterContext = Array("kept messages".utf8)

        /// Returns the key with which an opened message was sealed.
        static func senderKey(of message: UnsafeRawBufferPointer, from id: PeerID) -> PeerKey? {
            PeerKey(message.dropFirst().prefix(SealSuite.pointByteCount), of: id)
        }

        static func nonce(_ counter: UInt64) throws -> ChaChaPoly.Nonce {
            try ChaChaPoly.Nonce(data: [0, 0, 0, 0] + bytes(of: counter))
        }

        static func bytes(of counter: UInt64) -> [UInt8] { withUnsafeBytes(of: counter.bigEndian) { Array($0) } }
    }

    /// Seals messages for one peer, in one context per launch.
    struct KeptSealer: Sendable {
        private let head: [UInt8]
        private let key: SymmetricKey
        private var counter: UInt64 = 0

        /// Creates a context. Costs one key agreement and one generated key.
        init(from own: OwnKey, to peer: PeerKey) throws {
            let sender = try HPKE.Sender(
                recipientKey: peer.key, ciphersuite: SealSuite.hpke,
                info: SealSuite.info(KeptSeal.purpose, from: own.id, to: peer.id), authenticatedBy: own.key)
            key = try sender.exportSecret(context: KeptSeal.exporterContext, outputByteCount: 32)
            head = [SealSuite.version] + own.compressedPublicKey + (try SealSuite.compressed(sender.encapsulatedKey))
        }

        /// - Parameter topic: The topic of the message. It can't be opened on another one.
        mutating func seal(_ bytes: [UInt8], for topic: String) throws -> [UInt8] {
            guard counter < .max else { throw SealError.exhausted }
            let header = head + KeptSeal.bytes(of: counter)
            let box = try ChaChaPoly.seal(
                bytes, using: key, nonce: KeptSeal.nonce(counter), authenticating: header + Array(topic.utf8))
            counter += 1
            var message = header
            message.reserveCapacity(KeptSeal.overhead + bytes.count)
            box.ciphertext.withUnsafeBytes { message += $0 }
            box.tag.withUnsafeBytes { message += $0 }
            return message
        }
    }

    /// Opens messages that one peer has sealed for this one.
    ///
    /// Keeps the keys of the newest `contextsMax` contexts, and each context's last counter per topic. Refuses messages
    /// that aren't newer, because they are replays or were overtaken, and messages of older contexts. After
    /// `retiredMax` older contexts, refuses new ones until the receiver's next launch.
    ///
    /// All of this is in memory only. After a launch, delivery's numbering detects replays.
    struct KeptOpener: Sendable {
        static let contextsMax = 16
        static let retiredMax = 4096
        static let topicsMax = 256

        private struct Context: Sendable {
            let key: SymmetricKey
            /// The last counter plus one, by topic.
            var next: [String: UInt64] = [:]
        }

        private var contexts: [[UInt8]: Context] = [:]
        /// The heads of the contexts, oldest first.
        private var order: [[UInt8]] = []
        /// The last 8 bytes of older contexts' encapsulated keys, which are random.
        private var retired: Set<UInt64> = []

        let sender: PeerID
        let own: OwnKey

        init(from sender: PeerID, to own: OwnKey) {
            self.sender = sender
            self.own = own
        }

        /// - Throws: `SealError`: `malformed`, `forged`, `replayed` (seen, overtaken or of an older context),
        ///   `exhausted` (too many topics or contexts).
        mutating func open(_ message: UnsafeRawBufferPointer, from topic: String) throws(SealError) -> [UInt8] {
            guard message.count >= KeptSeal.overhead, message[0] == SealSuite.version else { throw .malformed }
            let head = Array(message.prefix(KeptSeal.headByteCount))
            let header = message.prefix(KeptSeal.headerByteCount)
            let counter = header.suffix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            guard counter < .max else { throw .malformed }
            let known = contexts[head]
            let context: Context
            if let known { context = known } else { context = try makeContext(head) }
            guard counter >= context.next[topic] ?? 0 else { throw .replayed }
            guard context.next[topic] != nil || context.next.count < Self.topicsMax else { throw .exhausted }
            guard
                let bytes = Self.decrypt(
                    message.dropFirst(KeptSeal.headerByteCount), context.key, counter,
                    authenticating: Array(header) + Array(topic.utf8))
            else { throw .forged }
            // Remembered only once the message has proved to be the peer's, so that forgeries displace nothing.
            if known == nil { remember(context, head) }
            contexts[head]?.next[topic] = counter + 1
            return bytes
        }

        private func makeContext(_ head: [UInt8]) throws(SealError) -> Context {
            guard !retired.contains(Self.number(head)) else { throw .replayed }
            guard retired.count < Self.retiredMax else { throw .exhausted }
            let points = head.dropFirst()
            guard let peer = PeerKey(points.prefix(SealSuite.pointByteCount), of: sender) else { throw .forged }
            do {
                let receiver = try HPKE.Recipient(
                    privateKey: own.key, ciphersuite: SealSuite.hpke,
                    info: SealSuite.info(KeptSeal.purpose, from: sender, to: own.id),
                    encapsulatedKey: SealSuite.encapsulated(points.suffix(SealSuite.pointByteCount)),
                    authenticatedBy: peer.key)
                return Context(
                    key: try receiver.exportSecret(context: KeptSeal.exporterContext, outputByteCount: 32))
            } catch { throw .forged }
        }

        private mutating func remember(_ context: Context, _ head: [UInt8]) {
            contexts[head] = context
            order.append(head)
            guard order.count > Self.contextsMax else { return }
            let oldest = order.removeFirst()
            contexts[oldest] = nil
            retired.insert(Self.number(oldest))
        }

        private static func number(_ head: [UInt8]) -> UInt64 { head.suffix(8).reduce(0) { $0 << 8 | UInt64($1) } }

        private static func decrypt(
            _ sealed: Slice<UnsafeRawBufferPointer>, _ key: SymmetricKey, _ counter: UInt64,
            authenticating header: [UInt8]
        ) -> [UInt8]? {
            let sealed = UnsafeRawBufferPointer(rebasing: sealed)
            let count = sealed.count - SealSuite.tagByteCount
            guard let nonce = try? KeptSeal.nonce(counter),
                let box = try? ChaChaPoly.SealedBox(
                    nonce: nonce, ciphertext: UnsafeRawBufferPointer(rebasing: sealed[..<count]),
                    tag: UnsafeRawBufferPointer(rebasing: sealed[count...])),
                let bytes = try? ChaChaPoly.open(box, using: key, authenticating: header)
            else { return nil }
            return bytes.withUnsafeBytes { Array($0) }
        }
    }
#endif
