#if UDP
    /// Counts the connections that haven't proven their peer yet, in total and per address.
    struct Admission {
        private let countMax: Int
        private let perAddressMax: Int
        private var counts: [String: Int] = [:]
        private(set) var count = 0

        init(_ bounds: UDPLinkBounds) {
            countMax = bounds.unprovenConnectionsMax
            perAddressMax = bounds.unprovenConnectionsPerAddressMax
        }

        /// Counts one more connection if the bounds allow it.
        /// - Returns: True if it was counted.
        mutating func enter(_ address: String) -> Bool {
            guard count < countMax, counts[address, default: 0] < perAddressMax else { return false }
            count += 1
            counts[address, default: 0] += 1
            return true
        }

        /// Stops counting a connection that has proven its peer or has ended.
        mutating func leave(_ address: String) {
            guard let there = counts[address] else { return }
            count -= 1
            counts[address] = there > 1 ? there - 1 : nil
        }
    }
#endif
