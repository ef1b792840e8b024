/// The rule by which a log accepts high-rate events (samples) while no peer confirms any. An eighth of the log is
/// reserved for other events. Half of the rest takes every sample. After that, with a share `s` of the rest left, one
/// of `(1 / 2s)²` samples is accepted. So the kept samples cover any length of time, ever more coarsely. At a sample a
/// second and space for 3,584, that is one in 4 after an hour, and one in 540 after half a day.
struct SampleThinning {
    /// Number of samples that aren't confirmed.
    var count = 0
    /// Number of samples since the last accepted one.
    private var skippedCount = 0

    static let share = 7.0 / 8

    /// Returns true if the log accepts another sample.
    ///
    /// - Parameters:
    ///   - capacity: maximum number of own events.
    ///   - byteFill: the used share of the log's bytes: 1 is full.
    ///   - isAlone: true if no peer is reachable that could confirm events.
    mutating func accepts(capacity: Int, byteFill: Double, isAlone: Bool) -> Bool {
        let left = 1 - max(Double(count) / Double(max(1, capacity)), byteFill) / Self.share
        guard left > 0 else { return false }
        skippedCount += 1
        let half = 0.5 / left
        guard !isAlone || Double(skippedCount) >= half * half else { return false }
        skippedCount = 0
        return true
    }
}
