/// Finds how many samples fit under a limit, with few measurements of a size that grows about evenly.
enum Capacity {
    /// Returns the largest count whose size is at most `limit`. Sizes must grow with the count.
    ///
    /// Uses the secant between two known sizes (regula falsi), and bisection at every third step. So uneven growth costs
    /// steps but not correctness. O(log count) calls of `size`.
    static func largestCount(within limit: Int, size: (Int) throws -> Int) rethrows -> Int {
        var low = (count: 0, size: try size(0))
        guard low.size <= limit else { return 0 }
        var high = (count: 64, size: try size(64))
        while high.size <= limit {
            let grows = high.size > low.size
            guard grows ? high.count < maximumCount : high.count < flatCountMax else { return high.count }
            let chord = grows ? count(at: limit, between: low, and: high) : high.count * 8
            low = high
            let next = min(max(chord, low.count) + 1, low.count * 8, maximumCount)
            high = (next, try size(next))
        }
        var step = 0
        while high.count - low.count > 1 {
            step += 1
            let chord = step % 3 == 0 ? (low.count + high.count) / 2 : count(at: limit, between: low, and: high)
            let middle = min(max(chord, low.count + 1), high.count - 1)
            let middleSize = try size(middle)
            if middleSize <= limit { low = (middle, middleSize) } else { high = (middle, middleSize) }
        }
        return low.count
    }

    /// Returns the count at which the line through two measurements reaches `limit`.
    static func count(at limit: Int, between low: (count: Int, size: Int), and high: (count: Int, size: Int)) -> Int {
        guard high.size > low.size, high.count > low.count else { return low.count }
        let bytesPerSample = Double(high.size - low.size) / Double(high.count - low.count)
        let count = Double(low.count) + Double(limit - low.size) / bytesPerSample
        return Int(min(max(count, 0), Double(maximumCount)))
    }

    private static let maximumCount = 1 << 40
    /// Count from which sizes that have not grown are considered constant.
    private static let flatCountMax = 4_096
}
