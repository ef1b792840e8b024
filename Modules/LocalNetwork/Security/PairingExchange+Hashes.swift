#if UDP || MQTT || WebSocket
    import Crypto

    import MeshFoundation

    extension PairingExchange {
        /// What the initiator opens with.
        var openingWord: [UInt8] {
            switch method {
            case .secret: localNonce
            case .digits: commitment(to: localNonce, name: localName)
            }
        }

        /// Binds the initiator to its nonce before it sees the responder's. The nonce hides: it has 256 random bits.
        func commitment(to nonce: [UInt8], name: [UInt8]) -> [UInt8] {
            var transcript = transcript("commitment")
            transcript.append(nonce)
            transcript.append(name)
            return Array(SHA256.hash(data: transcript.bytes))
        }

        /// The six digits. One of them is likelier than another by 2^-44 at most.
        var code: String {
            let number = SHA256.hash(data: complete("code").bytes).prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            let digits = String(number % 1_000_000)
            return String(repeating: "0", count: 6 - digits.count) + digits
        }

        /// That this role knows the secret.
        func proof(of role: Role) -> [UInt8] { authenticator("proof of \(role.name)") }
        func isProof(_ bytes: [UInt8], of role: Role) -> Bool { isAuthenticator(bytes, "proof of \(role.name)") }

        /// That this role is satisfied; different for the two, so that it cannot be thrown back.
        func agreement(of role: Role) -> [UInt8] { authenticator("agreement of \(role.name)") }
        func isAgreement(_ bytes: [UInt8], of role: Role) -> Bool {
            isAuthenticator(bytes, "agreement of \(role.name)")
        }

        private func authenticator(_ purpose: String) -> [UInt8] {
            Array(HMAC<SHA256>.authenticationCode(for: complete(purpose).bytes, using: key))
        }

        /// Takes the same time whatever the bytes are.
        private func isAuthenticator(_ bytes: [UInt8], _ purpose: String) -> Bool {
            HMAC<SHA256>.isValidAuthenticationCode(bytes, authenticating: complete(purpose).bytes, using: key)
        }

        /// Of the method digits there is no secret: the connection says who is speaking, and people say whether it is right.
        private var key: SymmetricKey {
            switch method {
            case .secret(let secret): SymmetricKey(data: secret.bytes)
            case .digits: SymmetricKey(data: [UInt8](repeating: 0, count: PairingSecret.byteCount))
            }
        }

        /// Everything that both sides know in the end, the initiator's first.
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
        /// Other secrets that only those who know this one have, by HKDF-SHA256.
        /// - Parameter count: at most 8,160.
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

        /// As it travels.
        var number: UInt8 {
            switch self {
            case .secret: Self.secretNumber
            case .digits: Self.digitsNumber
            }
        }
    }
#endif
