#if CommandLineTools
    import WorkoutExample

    /// Decides when two replayed devices are disconnected: from when both stop waiting for each other until shortly after both
    /// have tapped. Never so long that one device considers the other gone.
    struct LiveReach {
        /// Maximum time of disconnection. A peer is probed after 5 s of silence and considered gone after three probes.
        static let apartMax = Duration.milliseconds(5_500)
        /// Time for a person to read the lines about waiting taps.
        static let pause = Duration.milliseconds(1_300)

        private(set) var isApart = false
        private var isDone = false
        private var apart: Set<ReplayPlan.Actor> = []
        private var since = Duration.zero
        private var tappedAt: Duration?

        /// Handles a device's report.
        mutating func take(isApart: Bool, from actor: ReplayPlan.Actor, at now: Duration) {
            if isApart { apart.insert(actor) } else { apart.remove(actor) }
            if apart.count == ReplayPlan.Actor.allCases.count, !self.isApart, !isDone {
                self.isApart = true
                since = now
            }
            if self.isApart, apart.isEmpty, tappedAt == nil { tappedAt = now }
            pass(to: now)
        }

        mutating func pass(to now: Duration) {
            guard isApart, now >= since + Self.apartMax || tappedAt.map({ now >= $0 + Self.pause }) ?? false else {
                return
            }
            isApart = false
            isDone = true
        }
    }
#endif
