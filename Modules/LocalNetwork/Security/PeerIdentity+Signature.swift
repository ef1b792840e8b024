#if UDP || MQTT || WebSocket
    import Crypto

    extension PeerIdentity {
        /// Signs bytes by ECDSA over P-256 with SHA-256. The signature has 64 bytes, 32 for each of its two numbers.
        /// Begin the bytes with their purpose, so that the signature has no meaning elsewhere.
        /// - Throws: `SecurityError` with `systemCallFailed`.
        package func signature(of bytes: [UInt8]) throws(SecurityError) -> [UInt8] {
            do { return Array(try key.signature(for: bytes).rawRepresentation) } catch {
                throw SecurityError(.systemCallFailed, "the key couldn't sign: \(error)")
            }
        }
    }

    extension PeerID {
        /// Verifies a signature and returns the signer's ID.
        /// - Parameter publicKeyDER: The SubjectPublicKeyInfo in DER. The result is nil if it is invalid or the
        ///   signature is another key's.
        package init?(signer publicKeyDER: [UInt8], of bytes: [UInt8], signature: [UInt8]) {
            guard let key = try? P256.Signing.PublicKey(derRepresentation: publicKeyDER),
                let signature = try? P256.Signing.ECDSASignature(rawRepresentation: signature),
                key.isValidSignature(signature, for: bytes)
            else { return nil }
            self.init(publicKeyDER: Array(key.derRepresentation))
        }
    }
#endif
