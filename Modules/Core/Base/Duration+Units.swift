extension Duration {
    /// Whole nanoseconds: 0 for negative durations, at most a hundred years.
    package var nanoseconds: UInt64 {
        let (seconds, attoseconds) = components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        let century: Int64 = 3_155_760_000
        guard seconds < century else { return UInt64(century) * 1_000_000_000 }
        return UInt64(seconds) * 1_000_000_000 + UInt64(attoseconds / 1_000_000_000)
    }

    /// Whole milliseconds, rounded towards zero. Saturates at the bounds of `Int64`.
    package var milliseconds: Int64 {
        let (seconds, attoseconds) = components
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1000)
        return overflow ? (seconds < 0 ? .min : .max) : product &+ attoseconds / 1_000_000_000_000_000
    }

    package var seconds: Double {
        let (seconds, attoseconds) = components
        return Double(seconds) + Double(attoseconds) / 1e18
    }

    package init(nanoseconds: UInt64) {
        self.init(
            secondsComponent: Int64(nanoseconds / 1_000_000_000),
            attosecondsComponent: Int64(nanoseconds % 1_000_000_000) * 1_000_000_000)
    }
}
