#if CommandLineTools
    /// In the place of a sensor: a heart that beats faster, then slower, and never twice the same.
    struct HeartRateSensor {
        private var seconds = 0

        /// Beats a minute. Call it once a second.
        mutating func measure() -> Int {
            seconds += 1
            let step = seconds % 80
            return 110 + (step < 40 ? step : 80 - step)
        }
    }
#endif
