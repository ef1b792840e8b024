#if CommandLineTools
    /// In the place of a sensor: a heart that beats faster, then slower, and never twice the same.
    struct HeartRateSensor {
        private var last: ContinuousClock.Instant?
        private var seconds = 0

        /// Beats a minute, once a second; nil in between.
        mutating func measure() -> Int? {
            let now = ContinuousClock.now
            guard last.map({ now - $0 >= .seconds(1) }) ?? true else { return nil }
            last = now
            seconds += 1
            let step = seconds % 80
            return 110 + (step < 40 ? step : 80 - step)
        }
    }
#endif
