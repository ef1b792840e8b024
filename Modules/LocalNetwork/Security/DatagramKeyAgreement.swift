#if UDP || MQTT || WebSocket
    import Crypto

    import MeshFoundation

    /// One side of the agreement on the keys of sealed datagrams: X25519 (RFC 7748) with single-use keys.
    ///
    /// Each side sends its public key only in a message that proves its identity: over TLS in a `UDPLink`, or in a
    /// sealed hello through a relay. The agreement can't be copied, and `agree` consumes it: a second channel with the
    /// same keys would repeat every nonce.
    public struct DatagramKeyAgreement: ~Copyable, Sendable {
        /// The number of bytes in a public key.
        public static let publicKeyByteCount = 32

        private let key: Curve25519.KeyAgreement.PrivateKey
        /// The 32-byte public key to send to the other side.
        public let publicKey: [UInt8]

        /// Generates a single-use key.
        public init() { self.init(Curve25519.KeyAgreement.PrivateKey()) }

        init(_ key: Curve25519.KeyAgreement.PrivateKey) {
            self.key = key
            publicKey = Array(key.publicKey.rawRepresentation)
        }

        /// Derives the keys of both directions by HKDF with SHA-256 (RFC 5869). The input is the shared secret, both
        /// public keys, both peer IDs and the direction.
        ///
        /// - Parameters:
        ///   - publicKey: The other side's public key, 32 bytes.
        ///   - local: The peer ID that this side has proven on the connection.
        ///   - remote: The peer ID that the other side has proven.
        ///   - isInitiator: True on one side and false on the other. In a `UDPLink` it is true on the side that dialed,
        ///     and through a relay on the side with the lower ID.
        /// - Throws: `malformed` if the key isn't 32 bytes or is this side's own, `weakKey`.
        public consuming func agree(
            with publicKey: [UInt8], local: PeerID, remote: PeerID, isInitiator: Bool
        ) throws(SealError) -> SealedDatagrams {
            guard publicKey.count == Self.publicKeyByteCount, publicKey != self.publicKey,
                let theirs = try? Curve25519.KeyAgreement.PublicKey(rawRepresentation: publicKey),
                let secret = try? key.sharedSecretFromKeyAgreement(with: theirs)
            else { throw .malformed }
            // The library leaves this check (RFC 7748 section 6.1) to its callers.
            guard secret.withUnsafeBytes({ $0.reduce(0, |) }) != 0 else { throw .weakKey }
            let parties = Parties(
                initiatorKey: isInitiator ? self.publicKey : publicKey,
                responderKey: isInitiator ? publicKey : self.publicKey,
                initiator: isInitiator ? local : remote, responder: isInitiator ? remote : local)
            let outward = Self.derive(from: secret, parties, purpose: "initiator to responder")
            let inward = Self.derive(from: secret, parties, purpose: "responder to initiator")
            return SealedDatagrams(
                sealer: DatagramSealer(isInitiator ? outward : inward),
                opener: DatagramOpener(isInitiator ? inward : outward))
        }

        private struct Parties {
            let initiatorKey: [UInt8]
            let responderKey: [UInt8]
            let initiator: PeerID
            let responder: PeerID
        }

        private static func derive(from secret: SharedSecret, _ parties: Parties, purpose: String) -> DatagramKey {
            var info = Transcript("SessionMesh datagrams", version: 1, purpose: purpose)
            info.append(parties.initiatorKey)
            info.append(parties.responderKey)
            info.append(parties.initiator.bytes)
            info.append(parties.responder.bytes)
            let derived = secret.hkdfDerivedSymmetricKey(
                using: SHA256.self, salt: [UInt8](), sharedInfo: info.bytes, outputByteCount: 40)
            return derived.withUnsafeBytes { bytes in
                DatagramKey(
                    id: UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 32, as: UInt64.self)),
                    key: SymmetricKey(data: bytes.prefix(32)))
            }
        }
    }

    /// The key of one direction, with the ID that its packets carry.
    struct DatagramKey: Sendable {
        let id: UInt64
        /// The key itself, 32 bytes.
        let key: SymmetricKey
    }
#endif
