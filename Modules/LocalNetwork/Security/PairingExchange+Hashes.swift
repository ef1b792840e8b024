#if UDP || MQTT || WebSocket
    import Crypto

    import MeshFoundation

    extension PairingExchange {
        /// The field of the initiator's first message.
        var openingField: [UInt8] {
            switch method {
            case .secret: localNonce
            case .digits: commitment(to: localNonce, name: localName)
            }
        }

        /// Returns the hash that binds the initiator to its nonce before it sees the responder's. It doesn't reveal the
        /// nonce, which has 256 random bits.
        func commitment(to nonce: [UInt8], name: [UInt8]) -> [UInt8] {
            var transcript = transcript("commitment")
            transcript.append(nonce)
            transcript.append(name)
            return Array(SHA256.hash(data: transcript.bytes))
        }

        /// The six digits. No code is more probable than another by more than a factor of 1 + 2^-44.
        var code: String {
            let number = SHA256.hash(data: complete("code").bytes).prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            let digits = String(number % 1_000_000)
            return String(repeating: "0", count: 6 - digits.count) + digits
        }

        /// Returns the proof that this role knows the secret.
        func proof(of role: Role) -> [UInt8] { authenticator("proof of \(role.name)") }
        func isProof(_ bytes: [UInt8], of role: Role) -> Bool { isAuthenticator(bytes, "proof of \(role.name)") }

        /// Returns this role's acceptance of the pairing. The two roles' values differ, so neither can be reflected.
        func agreement(of role: Role) -> [UInt8] { authenticator("agreement of \(role.name)") }
        func isAgreement(_ bytes: [UInt8], of role: Role) -> Bool {
            isAuthenticator(bytes, "agreement of \(role.name)")
        }

        private func authenticator(_ purpose: String) -> [UInt8] {
            Array(HMAC<SHA256>.authenticationCode(for: complete(purpose).bytes, using: key))
        }

        /// Compares with the expected authenticator, in constant time.
        private func isAuthenticator(_ bytes: [UInt8], _ purpose: String) -> Bool {
            HMAC<SHA256>.isValidAuthenticationCode(bytes, authenticating: complete(purpose).bytes, using: key)
        }

        /// The HMAC key. With `digits` it is zeros: TLS authenticates the sender, and the users compare the digits.
        private var key: SymmetricKey {
            switch method {
            case .secret(let secret): SymmetricKey(data: secret.bytes)
            case .digits: SymmetricKey(data: [UInt8](repeating: 0, count: PairingSecret.byteCount))
            }
        }

        /// The transcript of everything that both sides know at the end, with the initiator's values first.
        private func complete(_ purpose: String) -> Transcript {
            let isInitiator = role == .initiator
            var transcript = transcript(purpose)
            transcript.append(isInitiator ? localNonce : remoteNonce)
            transcript.append(isInitiator ? remoteNonce : localNonce)
            transcript.append(isInitiator ? localName : remoteName)
            transcript.append(isInitiator ? remoteName : localName)
            return transcript
        }

        private func transcript(_ purpose: String) -> Transcript {
            let isInitiator = role == .initiator
            var transcript = Transcript("SessionMesh pairing", version: PairingMessage.version, purpose: purpose)
            transcript.append([method.number])
            transcript.append((isInitiator ? local : remote).bytes)
            transcript.append((isInitiator ? remote : local).bytes)
            return transcript
        }
    }

    extension PairingSecret {
        /// Derives further shared secrets from this one by HKDF-SHA256.
        /// - Parameter count: Number of bytes, at most 8,160.
        package func derivedBytes(_ purpose: String, count: Int) -> [UInt8] {
            HKDF<SHA256>.deriveKey(
                inputKeyMaterial: SymmetricKey(data: bytes), info: Array("SessionMesh \(purpose)".utf8),
                outputByteCount: count
            ).withUnsafeBytes { Array($0) }
        }
    }

    extension PairingExchange.Method {
        static let secretNumber: UInt8 = 1
        static let digitsNumber: UInt8 = 2

        /// The method's number in messages.
        var number: UInt8 {
            switch self {
            case .secret: Self.secretNumber
            case .digits: Self.digitsNumber
            }
        }
    }
#endif
