#if UDP || MQTT || WebSocket
    import Crypto
    import MeshBase
    import MeshFoundation

    /// The key by which others know this peer: ECDSA over P-256, made once and kept.
    ///
    /// A value; safe to use from any thread. What prints it shows the peer id and never the key.
    public struct PeerIdentity: Sendable {
        let key: P256.Signing.PrivateKey
        /// The ID under which others know this identity.
        public let peerID: PeerID

        /// A new one that lives in memory only.
        public init() { self.init(P256.Signing.PrivateKey()) }

        init(_ key: P256.Signing.PrivateKey) {
            self.key = key
            peerID = PeerID(publicKeyDER: Array(key.publicKey.derRepresentation))
        }

        /// The one in that file, which is made with mode 0600 when there is none. Of two processes that make it at the same
        /// time, both get the one of the first.
        ///
        /// The file is a private key in PEM (PKCS #8, RFC 5958) that includes the public key; whatever differs by one byte
        /// from what the key would be written as is damaged. It is never changed. Blocks while the disk works.
        ///
        /// - Throws: `SecurityError`: `notPrivate` when it belongs to another user or others may read it, `damaged`,
        ///   `missing` when its folder does not exist, `invalidArgument`, `systemCallFailed`.
        public init(file path: String) throws(SecurityError) {
            let file = try PrivateFile(path)
            // Somebody may make the file after we looked, and take it away after that.
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
            throw SecurityError(.damaged, "'\(path)' comes and goes; let one process at a time make it")
        }

        /// Makes a new identity in the place of the one in a file, for a device that has another device's identity: a restored
        /// backup, or a copy. The device is another peer from then on, and has to be paired again.
        ///
        /// - Throws: `SecurityError`: `notPrivate`, `missing`, `invalidArgument`, `systemCallFailed`. The file is as it was then.
        public static func reset(file path: String) throws(SecurityError) -> PeerIdentity {
            let made = PeerIdentity()
            try PrivateFile(path).replace(made.fileBytes)
            return made
        }

        /// PKCS #8, as TLS libraries take it. A secret.
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
                    .damaged, "'\(path)' holds no whole key; put back a copy, or move it away and pair anew")
            }
            return identity
        }
    }
#endif
