public import MeshFoundation

extension Date {
    /// Whole milliseconds since 1970 for a hybrid clock: 0 for earlier dates, and the clock's maximum beyond its range.
    @inlinable package var millisecondsSince1970: UInt64 {
        let milliseconds = timeIntervalSince1970 * 1000
        guard milliseconds > 0 else { return 0 }
        return milliseconds < Double(HybridTimestamp.millisecondsMax)
            ? UInt64(milliseconds) : HybridTimestamp.millisecondsMax
    }
}
