#if UDP || MQTT || WebSocket
    /// The record of accepted counters. Each is accepted at most once, and only if not too far behind the highest.
    ///
    /// The bitmap of RFC 6479: a ring with one word more than the window needs. So it clears whole words and never
    /// shifts bits. O(1); O(words) if the counter jumps.
    struct ReplayWindow: Sendable {
        enum Verdict: Equatable {
            case fresh, seen, tooOld
        }

        /// The number of counters that the window distinguishes, up to and including the highest: 1984.
        static let size = UInt64((wordCount - 1) * 64)
        private static let wordCount = 32

        private var words = [UInt64](repeating: 0, count: wordCount)
        /// The highest accepted counter plus 1; 0 while there is none.
        private(set) var end: UInt64 = 0

        /// Returns whether a counter may be accepted. Changes nothing.
        func verdict(on counter: UInt64) -> Verdict {
            if counter >= end { return .fresh }
            if end - counter > Self.size { return .tooOld }
            return words[Self.index(of: counter)] & Self.bit(of: counter) == 0 ? .fresh : .seen
        }

        /// Records an accepted counter. Call it only after the packet was authenticated: a forged counter would block
        /// packets that are still on the way (RFC 4303 section 3.4.3).
        /// - Parameter counter: A fresh counter below `UInt64.max`.
        mutating func insert(_ counter: UInt64) {
            if counter >= end {
                clear(after: end, through: counter)
                end = counter + 1
            }
            words[Self.index(of: counter)] |= Self.bit(of: counter)
        }

        /// Clears the words into which the window moves.
        private mutating func clear(after end: UInt64, through counter: UInt64) {
            // In an empty window all words are clear. Otherwise keep the word of the highest counter.
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
