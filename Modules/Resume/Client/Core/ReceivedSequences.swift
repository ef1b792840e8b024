/// The events of a session that have been received: all up to the floor, and a few ranges above it.
///
/// Ranges above the floor are live events that arrived during a replay. There are at most `rangesMax`; an event that
/// needs another range is refused. Operations take O(ranges).
struct ReceivedSequences: Hashable, Sendable {
    static let rangesMax = 64

    /// All events up to this one have been received, or never will be.
    private(set) var floor: UInt64
    /// Sorted ranges above the floor, which neither overlap nor touch.
    private(set) var ahead: [ClosedRange<UInt64>] = []

    init(floor: UInt64 = 0) { self.floor = floor }

    var last: UInt64 { ahead.last?.upperBound ?? floor }

    func contains(_ sequence: UInt64) -> Bool {
        sequence <= floor || ahead.contains { $0.contains(sequence) }
    }

    mutating func raise(to floor: UInt64) {
        guard floor > self.floor else { return }
        self.floor = floor
        while let first = ahead.first, first.lowerBound <= self.floor || first.lowerBound - self.floor == 1 {
            self.floor = max(self.floor, first.upperBound)
            ahead.removeFirst()
        }
    }

    /// Adds a range. Returns false if one more range doesn't fit.
    mutating func insert(_ range: ClosedRange<UInt64>) -> Bool {
        if range.lowerBound <= floor || range.lowerBound - floor == 1 {
            raise(to: range.upperBound)
            return true
        }
        var (lower, upper) = (range.lowerBound, range.upperBound)
        var others: [ClosedRange<UInt64>] = []
        for other in ahead {
            let isApart = other.upperBound < lower - 1 || (upper < .max && other.lowerBound > upper + 1)
            if isApart {
                others.append(other)
            } else {
                (lower, upper) = (min(lower, other.lowerBound), max(upper, other.upperBound))
            }
        }
        guard others.count < Self.rangesMax else { return false }
        others.append(lower...upper)
        ahead = others.sorted { $0.lowerBound < $1.lowerBound }
        return true
    }
}
