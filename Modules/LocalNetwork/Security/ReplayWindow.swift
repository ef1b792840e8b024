#if UDP || MQTT || WebSocket
    /// Which counters have been accepted: each at most once, as long as it is not too far behind the highest.
    ///
    /// The bitmap of RFC 6479: a ring of words of which one is cleared ahead, so that nothing is ever shifted. O(1), and
    /// O(words) for a leap.
    struct ReplayWindow: Sendable {
        enum Verdict: Equatable {
            case fresh, seen, tooOld
        }

        /// So many counters below the highest are known apart, the highest included: 1984.
        static let size = UInt64((wordCount - 1) * 64)
        private static let wordCount = 32

        private var words = [UInt64](repeating: 0, count: wordCount)
        /// One more than the highest; 0 while there is none.
        private(set) var end: UInt64 = 0

        /// What `insert` would find. Changes nothing.
        func verdict(on counter: UInt64) -> Verdict {
            if counter >= end { return .fresh }
            if end - counter > Self.size { return .tooOld }
            return words[Self.index(of: counter)] & Self.bit(of: counter) == 0 ? .fresh : .seen
        }

        /// Call it once the packet has been proven to be the peer's, never before: a forged counter would shut out what is
        /// on its way (RFC 4303 section 3.4.3).
        /// - Parameter counter: a fresh one, below `UInt64.max`.
        mutating func insert(_ counter: UInt64) {
            if counter >= end {
                clear(after: end, through: counter)
                end = counter + 1
            }
            words[Self.index(of: counter)] |= Self.bit(of: counter)
        }

        /// Clears the words that the window moves into.
        private mutating func clear(after end: UInt64, through counter: UInt64) {
            // Of an empty window every word is clear; otherwise the word of the highest counter stays.
            guard end > 0 else { return }
            let current = (end - 1) >> 6
            for step in 0..<min(UInt64(Self.wordCount), (counter >> 6) - current) {
                words[Int((current + 1 + step) % UInt64(Self.wordCount))] = 0
            }
        }

        private static func index(of counter: UInt64) -> Int { Int((counter >> 6) % UInt64(wordCount)) }
        private static func bit(of counter: UInt64) -> UInt64 { 1 << (counter & 63) }
    }
#endif
