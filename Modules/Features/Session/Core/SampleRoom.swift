/// Room for events of a high rate in a log that nobody empties: an eighth of it is left to taps. Of the rest samples fill half
/// at their own rate; then, with a share `s` of it left, one of `(1 / 2s)²` is taken. So what is kept reaches over the whole
/// time, however long that is: at a sample a second and room for 3,584 one in 9 after an hour, in 630 after half a day.
struct SampleRoom {
    /// Samples that are not confirmed.
    var count = 0
    /// How many have come since the last that was taken.
    private var waited = 0

    static let share = 7.0 / 8

    /// - Parameters:
    ///   - room: for own events, by number.
    ///   - byteFill: of the log, by bytes: 1 is full.
    ///   - isAlone: nobody can be reached who would confirm what is there.
    mutating func takes(in room: Int, byteFill: Double, isAlone: Bool) -> Bool {
        let left = 1 - max(Double(count) / Double(max(1, room)), byteFill) / Self.share
        guard left > 0 else { return false }
        waited += 1
        let half = 0.5 / left
        guard !isAlone || Double(waited) >= half * half else { return false }
        waited = 0
        return true
    }
}
