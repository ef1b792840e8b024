#if CommandLineTools
    import MeshSession
    import WorkoutExample

    /// A replayed peer's own report of its workout, for the live view.
    struct LiveDevice: Codable, Equatable {
        let phase: WorkoutPhase
        let elapsedSeconds: Double
        let laps: Int
        let metres: Double
        /// Heart rate in beats a minute.
        let heartRate: Int?
        let samples: Int
        /// Number of the other peer's taps held here.
        let held: UInt64
        /// True while this peer doesn't wait for the other.
        let isApart: Bool

        /// - Parameter other: ID of the other peer.
        @MainActor
        init(_ session: WorkoutSession, _ runner: ReplayRunner, other: String) {
            let (state, totals) = (session.state, session.totals)
            let moments = [runner.moment, totals.latest].compactMap(\.self)
            phase = state.phase
            elapsedSeconds = moments.max().map(state.elapsed) ?? 0
            laps = state.laps.count
            metres = max(state.distance, totals.distance)
            heartRate = totals.heartRate?.latest
            samples = totals.sampleCount
            held = session.heldSequence(of: other)
            isApart = runner.isApart
        }

        init(
            phase: WorkoutPhase, elapsedSeconds: Double, laps: Int, metres: Double, heartRate: Int?, samples: Int,
            held: UInt64 = 0, isApart: Bool = false
        ) {
            self.phase = phase
            self.elapsedSeconds = elapsedSeconds
            self.laps = laps
            self.metres = metres
            self.heartRate = heartRate
            self.samples = samples
            self.held = held
            self.isApart = isApart
        }
    }
#endif
