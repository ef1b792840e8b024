#if UDP || MQTT || WebSocket
    /// An exchange by which two devices that have never met come to trust each other's keys. It runs over a TLS
    /// connection on which each has proven its key and neither is trusted yet. A value without I/O and without a clock;
    /// both sides have one.
    ///
    /// - `secret`: one device shows a `PairingSecret`, the other reads it. Each proves by HMAC-SHA256 over both keys, both
    ///   nonces, both names and the roles that it knows the secret, which never travels.
    /// - `digits`: both devices show six digits, and each person says whether they are the same. The initiator commits
    ///   to its nonce before it sees the other's, and reveals it after, so that an attacker between the two has one
    ///   try, which succeeds with a probability of 1 in 1,000,000 (Vaudenay: *Secure Communications over Insecure
    ///   Channels Based on Short Authenticated Strings*, 2005; numeric comparison in Bluetooth 2.1 is the same).
    ///
    /// One try and 60 seconds: whatever throws has ended the exchange, and another one takes a person who asks for it. After
    /// an error, close the connection. Times are of any clock that does not jump.
    public struct PairingExchange: Sendable {
        /// The proof that the two devices are the ones their users mean.
        public enum Method: Sendable, Hashable {
            /// One device shows it, the other reads it.
            case secret(PairingSecret)
            /// Both show six digits, which their people compare.
            case digits
        }

        /// Exactly one side is the initiator: the one that has opened the connection.
        public enum Role: UInt8, Sendable, Hashable {
            /// The side that has opened the connection.
            case initiator = 1
            /// The side that has accepted it.
            case responder = 2
        }

        /// Maximum duration of an exchange: 60 seconds.
        public static let lifetime = Duration.seconds(60)
        /// Maximum size of a message in bytes.
        public static let messageBytesMax = PairingMessage.bytesMax

        enum Stage: Equatable {
            case fresh, awaitingOpening, awaitingAnswer, awaitingReveal, awaitingAgreement, comparing, over
        }

        let method: Method
        let role: Role
        let local: PeerID
        let remote: PeerID
        let localName: [UInt8]
        let localNonce: [UInt8]
        var remoteName: [UInt8] = []
        var remoteNonce: [UInt8] = []
        /// Of the initiator, as the responder has got it; method digits.
        var commitment: [UInt8] = []
        var stage = Stage.fresh
        var hasAgreed = false
        var peerHasAgreed = false
        /// The time at which the exchange ends by itself.
        public let deadline: Duration

        /// Creates one side of an exchange.
        ///
        /// - Parameters:
        ///   - local: the key that this side has proven on the connection.
        ///   - remote: the key that the other side has.
        ///   - localName: what the other person sees; sanitized, at most 64 bytes.
        public init(
            method: Method, role: Role, local: PeerID, remote: PeerID, localName: String, now: Duration
        ) {
            self.init(
                method: method, role: role, local: local, remote: remote, localName: localName, now: now,
                nonce: Self.randomNonce())
        }

        init(
            method: Method, role: Role, local: PeerID, remote: PeerID, localName: String, now: Duration,
            nonce: [UInt8]
        ) {
            self.method = method
            self.role = role
            self.local = local
            self.remote = remote
            self.localName = Array(DeviceName.sanitized(localName).utf8)
            localNonce = nonce
            deadline = now + Self.lifetime
        }

        /// Whether the exchange has ended.
        public var isOver: Bool { stage == .over }
    }

    /// A step for the caller to take, in order.
    public enum PairingStep: Sendable, Hashable {
        /// Send these bytes to the other side, as one message.
        case send([UInt8])
        /// Show these six digits, ask whether the other device shows the same, and call `confirm`.
        case compare(code: String)
        /// The other side's key belongs to the device that the person means: trust it. `name` is what that device calls
        /// itself, sanitized.
        case paired(name: String)
    }

    extension PairingExchange {
        /// Begins, on both sides.
        /// - Throws: `samePeer`, `over`; `outOfOrder` the second time.
        public mutating func begin() throws(PairingError) -> [PairingStep] {
            guard stage == .fresh else { throw fail(stage == .over ? .over : .outOfOrder) }
            guard local != remote else { throw fail(.samePeer) }
            guard role == .initiator else {
                stage = .awaitingOpening
                return []
            }
            stage = .awaitingAnswer
            return [send(.opening, word: openingWord, name: localName)]
        }

        /// Takes a message of the other side.
        /// - Throws: any `PairingError`; the exchange is over then.
        public mutating func receive(_ bytes: [UInt8], now: Duration) throws(PairingError) -> [PairingStep] {
            try check(now)
            do throws(PairingError) {
                return try handle(PairingMessage(bytes))
            } catch {
                throw fail(error)
            }
        }

        /// Reports the user's answer about the digits.
        ///
        /// - Returns: after a no, what tells the other side; the exchange is over then.
        /// - Throws: `outOfOrder` when there is nothing to confirm or it has been confirmed, `timedOut`, `over`.
        public mutating func confirm(_ agrees: Bool, now: Duration) throws(PairingError) -> [PairingStep] {
            try check(now)
            guard stage == .comparing, !hasAgreed else { throw fail(.outOfOrder) }
            guard agrees else {
                stage = .over
                return [send(.refusal)]
            }
            hasAgreed = true
            return [send(.agreement, word: agreement(of: role))] + pairedOnceBothAgree()
        }

        /// Checks the deadline against the current time.
        ///
        /// - Throws: `timedOut` at the deadline, once.
        public mutating func tick(now: Duration) throws(PairingError) {
            if stage != .over { try check(now) }
        }
    }

    extension PairingExchange {
        private mutating func handle(_ message: PairingMessage) throws(PairingError) -> [PairingStep] {
            guard message.method == method.number else { throw .differentMethod }
            guard message.role != role else { throw .reflected }
            switch (message.kind, stage) {
            case (.opening, .awaitingOpening): return try answer(message)
            case (.answer, .awaitingAnswer): return try reveal(message)
            case (.reveal, .awaitingReveal): return try conclude(message)
            case (.agreement, .awaitingAgreement), (.agreement, .comparing): return try agree(message)
            case (.refusal, _) where stage != .fresh: throw .declined
            default: throw .outOfOrder
            }
        }

        /// The responder has the initiator's nonce, or its commitment to one.
        private mutating func answer(_ opening: PairingMessage) throws(PairingError) -> [PairingStep] {
            remoteName = opening.name
            stage = .awaitingReveal
            switch method {
            case .digits:
                commitment = opening.word
                return [send(.answer, word: localNonce, name: localName)]
            case .secret:
                try setRemoteNonce(opening.word)
                return [send(.answer, word: localNonce, name: localName, proof: proof(of: .responder))]
            }
        }

        /// The initiator has the responder's nonce, and its proof when there is a secret.
        private mutating func reveal(_ answer: PairingMessage) throws(PairingError) -> [PairingStep] {
            remoteName = answer.name
            try setRemoteNonce(answer.word)
            switch method {
            case .digits:
                stage = .comparing
                return [send(.reveal, word: localNonce), .compare(code: code)]
            case .secret:
                guard isProof(answer.proof, of: .responder) else { throw .wrongSecret }
                stage = .awaitingAgreement
                return [send(.reveal, word: proof(of: .initiator))]
            }
        }

        /// The responder has all that there is to know.
        private mutating func conclude(_ reveal: PairingMessage) throws(PairingError) -> [PairingStep] {
            switch method {
            case .digits:
                try setRemoteNonce(reveal.word)
                guard commitment == commitment(to: reveal.word, name: remoteName) else { throw .wrongCommitment }
                stage = .comparing
                return [.compare(code: code)]
            case .secret:
                guard isProof(reveal.word, of: .initiator) else { throw .wrongSecret }
                stage = .over
                return [send(.agreement, word: agreement(of: .responder)), paired]
            }
        }

        private mutating func agree(_ message: PairingMessage) throws(PairingError) -> [PairingStep] {
            guard !peerHasAgreed else { throw .outOfOrder }
            guard isAgreement(message.word, of: role.other) else { throw .wrongAgreement }
            peerHasAgreed = true
            if case .secret = method { hasAgreed = true }
            return pairedOnceBothAgree()
        }

        private mutating func pairedOnceBothAgree() -> [PairingStep] {
            guard hasAgreed, peerHasAgreed else { return [] }
            stage = .over
            return [paired]
        }

        private var paired: PairingStep {
            .paired(name: DeviceName.sanitized(String(decoding: remoteName, as: UTF8.self)))
        }

        private mutating func setRemoteNonce(_ nonce: [UInt8]) throws(PairingError) {
            guard nonce != localNonce else { throw .reflected }
            remoteNonce = nonce
        }

        private func send(
            _ kind: PairingMessage.Kind, word: [UInt8] = [], name: [UInt8] = [], proof: [UInt8] = []
        ) -> PairingStep {
            .send(
                PairingMessage(
                    method: method.number, role: role, kind: kind, word: word, name: name, proof: proof
                ).bytes)
        }

        private mutating func check(_ now: Duration) throws(PairingError) {
            guard stage != .over else { throw .over }
            guard now < deadline else { throw fail(.timedOut) }
        }

        private mutating func fail(_ error: PairingError) -> PairingError {
            stage = .over
            return error
        }

        private static func randomNonce() -> [UInt8] {
            var generator = SystemRandomNumberGenerator()
            return (0..<PairingMessage.wordByteCount).map { _ in UInt8.random(in: 0 ... .max, using: &generator) }
        }
    }

    extension PairingExchange.Role {
        var other: Self { self == .initiator ? .responder : .initiator }
        var name: String { self == .initiator ? "initiator" : "responder" }
    }
#endif
