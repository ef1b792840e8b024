#if MQTT || WebSocket
    import Crypto
    import MeshSecurity

    import MeshFoundation

    /// The HPKE (RFC 9180) suite of relay links: DHKEM(P-256, HKDF-SHA256), HKDF-SHA256, ChaCha20Poly1305,
    /// authenticated mode.
    package enum SealSuite {
        package static let version: UInt8 = 1
        static let hpke = HPKE.Ciphersuite(kem: .P256_HKDF_SHA256, kdf: .HKDF_SHA256, aead: .chaChaPoly)
        /// The size of a compressed point of P-256 (SEC 1).
        static let pointByteCount = 33
        package static let tagByteCount = 16

        /// Binds a context to its purpose, sender and receiver.
        static func info(_ purpose: String, from sender: PeerID, to receiver: PeerID) -> Data {
            Data(Array("SessionMesh relay 1 \(purpose)".utf8) + [0] + sender.bytes + receiver.bytes)
        }

        /// Compresses HPKE's encapsulated key to half its bytes.
        static func compressed(_ encapsulated: Data) throws -> [UInt8] {
            Array(try P256.KeyAgreement.PublicKey(x963Representation: encapsulated).compressedRepresentation)
        }

        static func encapsulated(_ compressed: some Collection<UInt8>) throws -> Data {
            try P256.KeyAgreement.PublicKey(compressedRepresentation: Array(compressed)).x963Representation
        }
    }

    /// A peer's public key. The pinned ID is its hash and proves it, so the key's source doesn't matter.
    struct PeerKey: Sendable {
        let id: PeerID
        let key: P256.KeyAgreement.PublicKey

        /// - Parameter compressed: 33 bytes. The result is nil if they aren't a key, or are another peer's.
        init?(_ compressed: some Collection<UInt8>, of id: PeerID) {
            guard compressed.count == SealSuite.pointByteCount,
                let key = try? P256.KeyAgreement.PublicKey(compressedRepresentation: Array(compressed)),
                PeerID(publicKeyDER: Array(key.derRepresentation)) == id
            else { return nil }
            self.id = id
            self.key = key
        }
    }

    /// This peer's key pair, in the form that HPKE needs. The same key signs certificates elsewhere (ECDSA). That is
    /// secure because the two uses share no message format.
    struct OwnKey: Sendable {
        let id: PeerID
        let key: P256.KeyAgreement.PrivateKey
        /// The public key, 33 bytes.
        let compressedPublicKey: [UInt8]

        /// - Throws: `SecurityError` with `invalidArgument`.
        init(_ identity: PeerIdentity) throws(SecurityError) {
            do {
                key = try P256.KeyAgreement.PrivateKey(derRepresentation: identity.privateKeyDER)
            } catch {
                throw SecurityError(.invalidArgument, "key agreement with the identity's key failed: \(error)")
            }
            id = identity.peerID
            compressedPublicKey = Array(key.publicKey.compressedRepresentation)
        }

        /// Returns a topic name for a key of the lane `latest`. It reveals nothing without this peer's private key.
        func topicName(of key: String, for peer: PeerID) -> String {
            let code = HMAC<SHA256>.authenticationCode(
                for: Array("latest".utf8) + peer.bytes + Array(key.utf8),
                using: SymmetricKey(data: self.key.rawRepresentation))
            return RelayTopic.hexadecimal(code.prefix(12))
        }
    }
#endif
