/// One number for each source, zero where none was set: what a member holds, what it has confirmed, where sources end.
///
/// The first eight are inline, which is all that a search needs; simulations with many members use the rest.
struct Counts: Hashable {
    private var low: UInt64 = 0
    private var high: UInt64 = 0
    private var rest: [UInt16] = []

    subscript(source: Int) -> Int {
        get {
            switch source {
            case 0..<4: Int(low >> (16 * source) & 0xffff)
            case 4..<8: Int(high >> (16 * (source - 4)) & 0xffff)
            default: source - 8 < rest.count ? Int(rest[source - 8]) : 0
            }
        }
        set {
            let value = UInt16(newValue)
            switch source {
            case 0..<4: low = low & ~(0xffff << (16 * source)) | UInt64(value) << (16 * source)
            case 4..<8: high = high & ~(0xffff << (16 * (source - 4))) | UInt64(value) << (16 * (source - 4))
            default: setRest(source - 8, value)
            }
        }
    }

    /// Equal counts have equal storage: no zeros at the end.
    private mutating func setRest(_ index: Int, _ value: UInt16) {
        if index >= rest.count {
            guard value > 0 else { return }
            rest.append(contentsOf: repeatElement(0, count: index + 1 - rest.count))
        }
        rest[index] = value
        while rest.last == 0 { rest.removeLast() }
    }

    /// Of all sources; in the order of events, the position after as many of each.
    var total: Int {
        var sum = rest.reduce(0) { $0 + Int($1) }
        for shift in stride(from: 0, to: 64, by: 16) {
            sum += Int(low >> shift & 0xffff) + Int(high >> shift & 0xffff)
        }
        return sum
    }

    mutating func formMaximum(_ other: Counts) {
        for source in 0..<max(8 + rest.count, 8 + other.rest.count) where other[source] > self[source] {
            self[source] = other[source]
        }
    }

    mutating func formMinimum(_ other: Counts) {
        for source in 0..<8 + rest.count where other[source] < self[source] { self[source] = other[source] }
    }

    func mix(into fingerprint: inout Fingerprint) {
        fingerprint.mix(low)
        fingerprint.mix(high)
        for value in rest { fingerprint.mix(UInt64(value)) }
    }
}
