#if MQTT || WebSocket
    import Crypto
    import MeshSecurity

    import MeshFoundation

    /// A message by which two present peers agree on keys for live packets. It holds an X25519 key for one connection,
    /// and the receiver's key if the sender has received it. It is sealed in HPKE's authenticated single-shot mode (RFC
    /// 9180, section 6.1).
    ///
    ///     version 1 ‖ sender's public key 33 ‖ encapsulated key 33
    ///         ‖ sealed(own key 32 ‖ answered key 32, or zeros) ‖ tag 16
    ///
    /// A peer that gets its own fresh key back knows that the sender is present now. A replayed hello can't contain
    /// that key.
    struct Hello: Equatable {
        static let keyByteCount = DatagramKeyAgreement.publicKeyByteCount
        static let byteCount = 1 + 2 * SealSuite.pointByteCount + 2 * keyByteCount + SealSuite.tagByteCount
        private static let purpose = "hello"

        let key: [UInt8]
        /// The receiver's key, as the sender has received it; nil if the sender hasn't.
        let answeredKey: [UInt8]?

        func sealed(from own: OwnKey, to peer: PeerKey) throws -> [UInt8] {
            var sender = try HPKE.Sender(
                recipientKey: peer.key, ciphersuite: SealSuite.hpke,
                info: SealSuite.info(Self.purpose, from: own.id, to: peer.id), authenticatedBy: own.key)
            let plaintext = key + (answeredKey ?? [UInt8](repeating: 0, count: Self.keyByteCount))
            return [SealSuite.version] + own.compressedPublicKey + (try SealSuite.compressed(sender.encapsulatedKey))
                + (try sender.seal(plaintext))
        }

        /// - Throws: `SealError`: `malformed`, `forged`.
        static func open(
            _ bytes: [UInt8], from peer: PeerID, to own: OwnKey
        ) throws(SealError) -> (hello: Hello, key: PeerKey) {
            guard bytes.count == byteCount, bytes[0] == SealSuite.version else { throw .malformed }
            let points = bytes[1..<(1 + 2 * SealSuite.pointByteCount)]
            guard let key = PeerKey(points.prefix(SealSuite.pointByteCount), of: peer) else { throw .forged }
            do {
                var receiver = try HPKE.Recipient(
                    privateKey: own.key, ciphersuite: SealSuite.hpke,
                    info: SealSuite.info(purpose, from: peer, to: own.id),
                    encapsulatedKey: SealSuite.encapsulated(points.suffix(SealSuite.pointByteCount)),
                    authenticatedBy: key.key)
                let plaintext = Array(try receiver.open(bytes[points.endIndex...]))
                guard plaintext.count == 2 * keyByteCount else { throw SealError.malformed }
                let answeredKey = Array(plaintext.suffix(keyByteCount))
                return (
                    Hello(
                        key: Array(plaintext.prefix(keyByteCount)),
                        answeredKey: answeredKey.contains { $0 != 0 } ? answeredKey : nil),
                    key
                )
            } catch { throw .forged }
        }
    }

    /// The keys for live packets with one peer, from the first hello to the last packet. They are forward secret,
    /// because both X25519 keys exist in memory only.
    ///
    /// A class, because single-use keys can't be copied along with the core. Not thread-safe: the lock around the core
    /// protects it.
    final class LiveSeal: @unchecked Sendable {
        /// The key pair, consumed by the agreement.
        private var agreement: DatagramKeyAgreement?
        private var datagrams: SealedDatagrams?
        let publicKey: [UInt8]
        /// The peer's key that the last hello answered.
        var answered: [UInt8]?

        init() {
            let agreement = DatagramKeyAgreement()
            publicKey = agreement.publicKey
            self.agreement = consume agreement
        }

        var isAgreed: Bool { datagrams != nil }

        /// - Throws: `SealError`. Then these keys can't be used.
        func agree(with key: [UInt8], own: PeerID, peer: PeerID) throws(SealError) {
            guard let agreement = agreement.take() else { throw .exhausted }
            datagrams = try agreement.agree(with: key, local: own, remote: peer, isInitiator: own < peer)
        }

        func seal(_ bytes: [UInt8]) throws(SealError) -> [UInt8] {
            guard let sealed = try datagrams?.seal(bytes) else { throw .unknownKey }
            return sealed
        }

        func open(_ bytes: UnsafeRawBufferPointer) throws(SealError) -> [UInt8] {
            guard let opened = try datagrams?.open(bytes) else { throw .unknownKey }
            return opened
        }
    }
#endif
