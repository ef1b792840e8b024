#if UDP
    /// Counts the connections that have not proven who is there, in all and from one address.
    struct Admission {
        private let countMax: Int
        private let perAddressMax: Int
        private var counts: [String: Int] = [:]
        private(set) var count = 0

        init(_ bounds: UDPLinkBounds) {
            countMax = bounds.unprovenConnectionsMax
            perAddressMax = bounds.unprovenConnectionsPerAddressMax
        }

        /// - Returns: whether there is room for one more from there; it is counted then.
        mutating func enter(_ address: String) -> Bool {
            guard count < countMax, counts[address, default: 0] < perAddressMax else { return false }
            count += 1
            counts[address, default: 0] += 1
            return true
        }

        /// One that has entered has proven itself, or has gone.
        mutating func leave(_ address: String) {
            guard let there = counts[address] else { return }
            count -= 1
            counts[address] = there > 1 ? there - 1 : nil
        }
    }
#endif
