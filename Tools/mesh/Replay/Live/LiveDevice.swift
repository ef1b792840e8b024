#if CommandLineTools
    import MeshSession
    import WorkoutExample

    /// The workout as a replayed peer shows it, in its own words.
    struct LiveDevice: Codable, Equatable {
        let phase: WorkoutPhase
        let elapsedSeconds: Double
        let laps: Int
        let metres: Double
        /// Beats a minute.
        let heartRate: Int?
        let samples: Int
        /// Taps of the other peer that are here.
        let held: UInt64
        /// Whether it waits for nothing of the other's.
        let isApart: Bool

        /// - Parameter other: id of the other peer.
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
