#if UDP || MQTT || WebSocket
    import Crypto

    extension PeerIdentity {
        /// 64 bytes: ECDSA over P-256 with SHA-256, both numbers in 32 bytes. Say first in the bytes what they are for, so that
        /// what is signed here means nothing elsewhere.
        /// - Throws: `SecurityError` with `systemCallFailed`.
        package func signature(of bytes: [UInt8]) throws(SecurityError) -> [UInt8] {
            do { return Array(try key.signature(for: bytes).rawRepresentation) } catch {
                throw SecurityError(.systemCallFailed, "the key signs nothing: \(error)")
            }
        }
    }

    extension PeerID {
        /// Who has signed.
        /// - Parameter publicKeyDER: a SubjectPublicKeyInfo; nil comes of one that is none, and of another's signature.
        package init?(signer publicKeyDER: [UInt8], of bytes: [UInt8], signature: [UInt8]) {
            guard let key = try? P256.Signing.PublicKey(derRepresentation: publicKeyDER),
                let signature = try? P256.Signing.ECDSASignature(rawRepresentation: signature),
                key.isValidSignature(signature, for: bytes)
            else { return nil }
            self.init(publicKeyDER: Array(key.derRepresentation))
        }
    }
#endif
