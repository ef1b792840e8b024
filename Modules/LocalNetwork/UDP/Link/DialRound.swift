#if UDP
    import MeshSecurity
    import NIOCore

    /// One round of tries at the places of one peer: a little after each other and overlapping, as for the addresses of a
    /// name (RFC 8305). The first who proves to be the peer ends the others.
    final class DialRound {
        /// One try of a round.
        struct Try {
            let round: DialRound
            let endpoint: Endpoint
            let number: Int
        }

        let target: DialPlan.Target
        let expected: PeerID?
        private var waiting: ArraySlice<Endpoint>
        /// Tries that have neither failed nor led to a connection, by number.
        var running: Set<Int> = []
        /// The one that has proven who is there.
        var winner: Int?
        var timer: Scheduled<Void>?
        /// What the peer said to a connection of this round.
        var code: Goodbye.Code?

        init(_ round: DialPlan.Round) {
            target = round.target
            expected = round.expected
            waiting = round.endpoints[...]
        }

        func next() -> Endpoint? { winner == nil ? waiting.popFirst() : nil }

        var isExhausted: Bool { running.isEmpty && (waiting.isEmpty || winner != nil) }
    }
#endif
