#if UDP || MQTT || WebSocket
    // Terms of pairing; Docs/Internals/SecuritySpecification.md "Pairing" has every byte.
    // - nonce: 32 random bytes, new for each side and exchange.
    // - commitment: a SHA-256 hash of a nonce, sent before the nonce, which can't be changed afterwards.
    // - proof: an HMAC-SHA256 that shows that a side knows the secret.
    // - agreement: an HMAC-SHA256 by which a side accepts the pairing.
    // - field: the 32 bytes of a message that hold one of these.
    // The method `digits` is that of Vaudenay: *Secure Communications over Insecure Channels Based on Short
    // Authenticated Strings*, 2005. Numeric comparison in Bluetooth 2.1 is the same scheme.

    /// One side of an exchange by which two devices that have never met come to trust each other's keys.
    ///
    /// With `UDPPairing`, the exchange runs over a TLS connection on which each device has proven its key. With
    /// `MQTTPairing`, its messages are sealed with the secret, and each device proves its key later, when it connects.
    /// Neither key is trusted before the exchange ends. A value without I/O and without a clock.
    ///
    /// - `secret`: one device shows a `PairingSecret`, and the other reads it. Each proves that it knows the secret by
    ///   an HMAC-SHA256 over both keys, both nonces, both names and the roles. The secret itself isn't sent.
    /// - `digits`: both devices show six digits, and each user confirms that they match. The initiator commits to its
    ///   nonce before it sees the responder's nonce, and reveals it afterwards. So an attacker between the two has one
    ///   try, which succeeds with a probability of 1 in 1,000,000.
    ///
    /// Any error ends the exchange, and so does the limit of 60 seconds. After an error, close the connection. Start
    /// another exchange only if a user asks for it. Times come from any clock that doesn't jump.
    public struct PairingExchange: Sendable {
        /// The way in which users verify that the right two devices pair.
        public enum Method: Sendable, Hashable {
            /// One device shows this secret, and the other reads it.
            case secret(PairingSecret)
            /// Both devices show six digits, and their users compare them.
            case digits
        }

        /// One of the two sides of an exchange.
        public enum Role: UInt8, Sendable, Hashable {
            /// The side that sends the first message. Over TLS, it opened the connection.
            case initiator = 1
            /// The side that receives the first message. Over TLS, it accepted the connection.
            case responder = 2
        }

        /// Maximum duration of an exchange: 60 seconds.
        public static let lifetime = Duration.seconds(60)
        /// Maximum size of a message in bytes.
        public static let messageBytesMax = PairingMessage.bytesMax

        enum Stage: Equatable {
            case fresh, awaitingOpening, awaitingAnswer, awaitingReveal, awaitingAgreement, comparing, ended
        }

        let method: Method
        let role: Role
        let local: PeerID
        let remote: PeerID
        let localName: [UInt8]
        let localNonce: [UInt8]
        var remoteName: [UInt8] = []
        var remoteNonce: [UInt8] = []
        /// The initiator's commitment, as the responder received it. Only for the method `digits`.
        var commitment: [UInt8] = []
        var stage = Stage.fresh
        var hasAgreed = false
        var peerHasAgreed = false
        /// The time at which the exchange times out.
        public let deadline: Duration

        /// Creates one side of an exchange.
        ///
        /// - Parameters:
        ///   - local: The peer ID that this side has proven on the connection.
        ///   - remote: The peer ID that the other side has proven.
        ///   - localName: The name shown to the other user. It is sanitized and cut to 64 bytes.
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

        /// True if the exchange has ended.
        public var isOver: Bool { stage == .ended }
    }

    /// A step for the caller. Take the steps in order.
    public enum PairingStep: Sendable, Hashable {
        /// The bytes to send to the other side, as one message.
        case send([UInt8])
        /// The six digits to show. Ask the user if the other device shows the same, and call `confirm`.
        case compare(code: String)
        /// The exchange has succeeded. Trust the other side's key: it belongs to the intended device. `name` is
        /// sanitized.
        case paired(name: String)
    }

    extension PairingExchange {
        /// Starts the exchange with the first message. Call it once on each side.
        /// - Throws: `samePeer`, `over`, or `outOfOrder` on a second call.
        public mutating func begin() throws(PairingError) -> [PairingStep] {
            guard stage == .fresh else { throw fail(stage == .ended ? .over : .outOfOrder) }
            guard local != remote else { throw fail(.samePeer) }
            guard role == .initiator else {
                stage = .awaitingOpening
                return []
            }
            stage = .awaitingAnswer
            return [send(.opening, field: openingField, name: localName)]
        }

        /// Processes a message from the other side.
        /// - Throws: Any `PairingError`. The exchange is over then.
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
        /// - Returns: The steps to take. If the user declined, that is one message, and the exchange is over.
        /// - Throws: `outOfOrder` if there is nothing to confirm or it was already confirmed, `timedOut`, `over`.
        public mutating func confirm(_ agrees: Bool, now: Duration) throws(PairingError) -> [PairingStep] {
            try check(now)
            guard stage == .comparing, !hasAgreed else { throw fail(.outOfOrder) }
            guard agrees else {
                stage = .ended
                return [send(.refusal)]
            }
            hasAgreed = true
            return [send(.agreement, field: agreement(of: role))] + pairedOnceBothAgree()
        }

        /// Checks the deadline against the current time.
        ///
        /// - Throws: `timedOut` at the deadline, once.
        public mutating func tick(now: Duration) throws(PairingError) {
            if stage != .ended { try check(now) }
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

        /// The responder receives the initiator's nonce, or the commitment to it.
        private mutating func answer(_ opening: PairingMessage) throws(PairingError) -> [PairingStep] {
            remoteName = opening.name
            stage = .awaitingReveal
            switch method {
            case .digits:
                commitment = opening.field
                return [send(.answer, field: localNonce, name: localName)]
            case .secret:
                try setRemoteNonce(opening.field)
                return [send(.answer, field: localNonce, name: localName, proof: proof(of: .responder))]
            }
        }

        /// The initiator receives the responder's nonce and, with a secret, its proof.
        private mutating func reveal(_ answer: PairingMessage) throws(PairingError) -> [PairingStep] {
            remoteName = answer.name
            try setRemoteNonce(answer.field)
            switch method {
            case .digits:
                stage = .comparing
                return [send(.reveal, field: localNonce), .compare(code: code)]
            case .secret:
                guard isProof(answer.proof, of: .responder) else { throw .wrongSecret }
                stage = .awaitingAgreement
                return [send(.reveal, field: proof(of: .initiator))]
            }
        }

        /// The responder receives the initiator's nonce or proof, and can decide.
        private mutating func conclude(_ reveal: PairingMessage) throws(PairingError) -> [PairingStep] {
            switch method {
            case .digits:
                try setRemoteNonce(reveal.field)
                guard commitment == commitment(to: reveal.field, name: remoteName) else { throw .wrongCommitment }
                stage = .comparing
                return [.compare(code: code)]
            case .secret:
                guard isProof(reveal.field, of: .initiator) else { throw .wrongSecret }
                stage = .ended
                // In this order, so that the initiator pairs only if the responder could.
                return [paired, send(.agreement, field: agreement(of: .responder))]
            }
        }

        private mutating func agree(_ message: PairingMessage) throws(PairingError) -> [PairingStep] {
            guard !peerHasAgreed else { throw .outOfOrder }
            guard isAgreement(message.field, of: role.other) else { throw .wrongAgreement }
            peerHasAgreed = true
            if case .secret = method { hasAgreed = true }
            return pairedOnceBothAgree()
        }

        private mutating func pairedOnceBothAgree() -> [PairingStep] {
            guard hasAgreed, peerHasAgreed else { return [] }
            stage = .ended
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
            _ kind: PairingMessage.Kind, field: [UInt8] = [], name: [UInt8] = [], proof: [UInt8] = []
        ) -> PairingStep {
            .send(
                PairingMessage(
                    method: method.number, role: role, kind: kind, field: field, name: name, proof: proof
                ).bytes)
        }

        private mutating func check(_ now: Duration) throws(PairingError) {
            guard stage != .ended else { throw .over }
            guard now < deadline else { throw fail(.timedOut) }
        }

        private mutating func fail(_ error: PairingError) -> PairingError {
            stage = .ended
            return error
        }

        private static func randomNonce() -> [UInt8] {
            var generator = SystemRandomNumberGenerator()
            return (0..<PairingMessage.fieldByteCount).map { _ in UInt8.random(in: 0 ... .max, using: &generator) }
        }
    }

    extension PairingExchange.Role {
        var other: Self { self == .initiator ? .responder : .initiator }
        var name: String { self == .initiator ? "initiator" : "responder" }
    }
#endif
