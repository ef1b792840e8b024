#if UDP || MQTT || WebSocket
    /// A message about lost peers: the sender's statements, and the number of the receiver's notice that it answers.
    struct RevocationNotice: Hashable, Sendable {
        /// A claim that a peer is lost.
        struct Statement: Hashable, Sendable {
            let peer: PeerID
            let number: UInt64
        }

        static let bytesMax = headByteCount + TrustedPeers.revokedMax * statementByteCount
        private static let version: UInt8 = 1
        private static let headByteCount = 10
        private static let statementByteCount = PeerID.byteCount + 8

        /// The statements, in ascending order of their numbers.
        let statements: [Statement]
        /// The number of the receiver's notice that this one answers; 0 if it isn't an answer.
        let answeredNumber: UInt64
        /// True if the sender is waiting for the receiver's answer.
        let wantsAnswer: Bool

        init(statements: [Statement], answeredNumber: UInt64, wantsAnswer: Bool) {
            (self.statements, self.answeredNumber, self.wantsAnswer) = (statements, answeredNumber, wantsAnswer)
        }

        /// The highest number of the statements, which an answer repeats; 0 without statements.
        var number: UInt64 { statements.last?.number ?? 0 }

        /// Parses a notice.
        ///
        /// - Parameter bytes: The bytes from a peer. The result is nil unless they are exactly one notice with
        ///   ascending numbers.
        init?(_ bytes: [UInt8]) {
            let count = (bytes.count - Self.headByteCount) / Self.statementByteCount
            guard bytes.count >= Self.headByteCount, bytes.count <= Self.bytesMax, bytes[0] == Self.version,
                bytes[1] <= 1,
                bytes.count == Self.headByteCount + count * Self.statementByteCount
            else { return nil }
            wantsAnswer = bytes[1] == 1
            answeredNumber = Self.number(bytes[2..<10])
            var statements: [Statement] = []
            for start in stride(from: Self.headByteCount, to: bytes.count, by: Self.statementByteCount) {
                let end = start + PeerID.byteCount
                guard let peer = PeerID(bytes: bytes[start..<end]) else { return nil }
                let statement = Statement(peer: peer, number: Self.number(bytes[end..<end + 8]))
                guard statement.number > statements.last?.number ?? 0 else { return nil }
                statements.append(statement)
            }
            self.statements = statements
        }

        var bytes: [UInt8] {
            [Self.version, wantsAnswer ? 1 : 0] + Self.bytes(answeredNumber)
                + statements.flatMap { $0.peer.bytes + Self.bytes($0.number) }
        }

        private static func number(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
        private static func bytes(_ number: UInt64) -> [UInt8] {
            withUnsafeBytes(of: number.bigEndian) { Array($0) }
        }
    }
#endif
