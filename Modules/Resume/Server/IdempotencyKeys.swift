#if WebSocket
    import MeshBase

    /// The recent requests that carried an idempotency key, kept so that a repeated request appends no event twice. The
    /// key is the IETF's header field `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header).
    ///
    /// Deviations: a key's quotes count as part of it, and only the events' numbers are kept of an answer. A repeated
    /// request appends what the first one couldn't. Beyond `keysMax` or `sequencesMax`, or after `lifetime`, the oldest
    /// key is forgotten, unless its request is being handled.
    struct IdempotencyKeys: Sendable {
        private struct Entry {
            /// A hash of the request with a seed that only this process has.
            let request: Int
            var sequences: [UInt64?]
            var isRunning = true
            let number: Int
        }

        /// Maximum number of bytes per key.
        static let keyBytesMax = 128
        /// Maximum number of keys.
        static let keysMax = 10_000
        /// Maximum number of events of all keys.
        static let sequencesMax = 100_000
        /// The time for which a key is kept.
        static let lifetime = Duration.seconds(3600)

        private var entries: [String: Entry] = [:]
        /// The keys, oldest first. Those before index `first` are forgotten.
        private var ages: [(key: String, number: Int, at: Duration)] = []
        private var first = 0
        private var number = 0
        private(set) var sequenceCount = 0

        var count: Int { entries.count }

        /// - Returns: nil without a key.
        static func key(in values: [String]) throws(PublishingError) -> String? {
            guard let key = values.first else { return nil }
            let isPrintable = key.utf8.allSatisfy { (0x21...0x7e).contains($0) }
            guard values.count == 1, isPrintable, (1...keyBytesMax).contains(key.utf8.count) else {
                throw PublishingError(
                    .invalidKey,
                    "Idempotency-Key is one value of 1 to \(keyBytesMax) printable characters without spaces")
            }
            return key
        }

        /// Begins a request, or repeats one.
        ///
        /// - Returns: the numbers of the events that are appended already; nil for those that aren't. Call `end` once
        ///   the request is done.
        mutating func begin(
            _ key: String, request: Int, count: Int, _ now: Duration
        ) throws(PublishingError) -> [UInt64?] {
            removeOld(now)
            if var entry = entries[key] {
                guard entry.request == request else {
                    throw PublishingError(.keyReused, "another request had this Idempotency-Key")
                }
                guard !entry.isRunning else {
                    throw PublishingError(.inProgress, "a request with this Idempotency-Key is being handled")
                }
                entry.isRunning = true
                entries[key] = entry
                return entry.sequences
            }
            number += 1
            let sequences = [UInt64?](repeating: nil, count: count)
            entries[key] = Entry(request: request, sequences: sequences, number: number)
            ages.append((key, number, now))
            sequenceCount += count
            var candidates = ages.count - first
            while entries.count > Self.keysMax || sequenceCount > Self.sequencesMax, candidates > 0 {
                candidates -= 1
                removeOldest(now)
            }
            return sequences
        }

        /// Ends a request, and keeps the numbers of the events that it appended. Forgets a request that appended none.
        mutating func end(_ key: String, _ sequences: [UInt64?]) {
            guard var entry = entries[key], entry.isRunning, entry.sequences.count == sequences.count else { return }
            guard sequences.contains(where: { $0 != nil }) || sequences.isEmpty else {
                return remove(key, entry.number)
            }
            (entry.sequences, entry.isRunning) = (sequences, false)
            entries[key] = entry
        }

        private mutating func removeOld(_ now: Duration) {
            while first < ages.count, now - ages[first].at >= Self.lifetime { removeOldest(now) }
        }

        /// Removes the oldest key. One whose request is being handled becomes the newest instead.
        private mutating func removeOldest(_ now: Duration) {
            guard first < ages.count else { return }
            let (key, number, _) = ages[first]
            let isRunning = entries[key].map { $0.number == number && $0.isRunning } ?? false
            if isRunning { ages.append((key, number, now)) }
            first += 1
            if first * 2 >= ages.count {
                ages.removeFirst(first)
                first = 0
            }
            if !isRunning { remove(key, number) }
        }

        private mutating func remove(_ key: String, _ number: Int) {
            guard let entry = entries[key], entry.number == number else { return }
            entries[key] = nil
            sequenceCount -= entry.sequences.count
        }
    }
#endif
