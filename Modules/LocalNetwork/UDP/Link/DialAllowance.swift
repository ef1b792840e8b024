#if UDP
    import MeshBase

    /// How many connections whatever discovery says may cost: so many at once, and so many again in every second.
    struct DialAllowance {
        private let countMax: Double
        private let perSecond: Double
        private var count: Double
        private var countedAt = Duration.zero

        init(_ countMax: Int, perSecond: Int) {
            self.countMax = Double(countMax)
            self.perSecond = Double(perSecond)
            count = self.countMax
        }

        /// How many there may be now.
        mutating func available(_ now: Duration) -> Int {
            if now > countedAt {
                count = min(countMax, count + (now - countedAt) / .seconds(1) * perSecond)
                countedAt = now
            }
            return Int(count)
        }

        /// - Parameter taken: as many as were available, or fewer.
        mutating func take(_ taken: Int) { count -= Double(taken) }

        /// The peer that was looked for was there.
        mutating func reset() { count = countMax }
    }
#endif
