#if CommandLineTools
    /// A simulated sensor. The rate rises and falls, and changes every second.
    struct HeartRateSensor {
        private var seconds = 0

        /// Returns beats a minute. Call it once a second.
        mutating func measure() -> Int {
            seconds += 1
            let step = seconds % 80
            return 110 + (step < 40 ? step : 80 - step)
        }
    }
#endif
