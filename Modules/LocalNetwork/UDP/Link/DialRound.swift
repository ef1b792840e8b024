#if UDP
    import MeshSecurity
    import NIOCore

    /// One round of tries at the endpoints of one target. They start at short intervals and overlap, as for the
    /// addresses of a host name (RFC 8305). The first try that proves its peer ends the others.
    final class DialRound {
        struct Try {
            let round: DialRound
            let endpoint: Endpoint
            let number: Int
        }

        let target: DialPlan.Target
        let expected: PeerID?
        private var waiting: ArraySlice<Endpoint>
        /// The numbers of the tries that have neither failed nor led to a connection.
        var running: Set<Int> = []
        /// The number of the try that has proven its peer.
        var winner: Int?
        var timer: Scheduled<Void>?
        /// The code of the peer's goodbye on a connection of this round.
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
