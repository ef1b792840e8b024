#if UDP || MQTT || WebSocket
    import Crypto
    import MeshBase
    import MeshFoundation

    /// The private key of this peer, by which others recognize it: ECDSA over P-256, created once and stored.
    ///
    /// A value; safe to use from any thread. Printing it shows the peer ID and never the key.
    public struct PeerIdentity: Sendable {
        let key: P256.Signing.PrivateKey
        /// The ID of this identity.
        public let peerID: PeerID

        /// Creates an identity that lives only in memory.
        public init() { self.init(P256.Signing.PrivateKey()) }

        init(_ key: P256.Signing.PrivateKey) {
            self.key = key
            peerID = PeerID(publicKeyDER: Array(key.publicKey.derRepresentation))
        }

        /// Reads the identity from a file, or creates the file with mode 0600. If two processes create it at the same
        /// time, both get the first one's identity.
        ///
        /// The file is a private key in PEM (PKCS #8, RFC 5958) that includes the public key. A file that differs from
        /// this encoding, even by one byte, counts as damaged. An existing file is never changed. Blocks during disk
        /// access.
        ///
        /// - Throws: `SecurityError`: `notPrivate` if the file belongs to another user or others may read it,
        ///   `damaged`, `missing` if its folder doesn't exist, `invalidArgument`, `systemCallFailed`.
        public init(file path: String) throws(SecurityError) {
            let file = try PrivateFile(path)
            // Another process may create the file after our read, and delete it again.
            for _ in 0..<4 {
                if let bytes = try file.read(bytesMax: Self.fileBytesMax) {
                    self = try Self.decoded(bytes, from: path)
                    return
                }
                let made = PeerIdentity()
                if try file.create(made.fileBytes) {
                    self = made
                    return
                }
            }
            throw SecurityError(
                .damaged, "'\(path)' was created and deleted repeatedly; let only one process create it")
        }

        /// Replaces the identity in a file with a new one, for a device that has another device's identity because of a
        /// restored backup or a copy. The device is then a different peer and must be paired again.
        ///
        /// - Throws: `SecurityError`: `notPrivate`, `missing`, `invalidArgument`, `systemCallFailed`. The file is
        ///   unchanged then.
        public static func reset(file path: String) throws(SecurityError) -> PeerIdentity {
            let made = PeerIdentity()
            try PrivateFile(path).replace(made.fileBytes)
            return made
        }

        /// The private key as PKCS #8 in DER, for TLS libraries. Keep it secret.
        public var privateKeyDER: [UInt8] { Array(key.derRepresentation) }

        /// The public key as a SubjectPublicKeyInfo in DER.
        public var publicKeyDER: [UInt8] { Array(key.publicKey.derRepresentation) }
    }

    extension PeerIdentity: CustomStringConvertible, CustomReflectable {
        public var description: String { "PeerIdentity(\(peerID))" }
        public var customMirror: Mirror { Mirror(self, children: ["peerID": peerID]) }
    }

    extension PeerIdentity {
        private static let fileBytesMax = 4096

        private var fileBytes: [UInt8] { Array((key.pemRepresentation + "\n").utf8) }

        private static func decoded(_ bytes: [UInt8], from path: String) throws(SecurityError) -> PeerIdentity {
            let key = try? P256.Signing.PrivateKey(pemRepresentation: String(decoding: bytes, as: UTF8.self))
            guard let identity = key.map(PeerIdentity.init), identity.fileBytes == bytes else {
                throw SecurityError(
                    .damaged, "'\(path)' doesn't contain a complete key; restore a copy, or move it away and pair again"
                )
            }
            return identity
        }
    }
#endif
