import MeshBase

/// What a buffer in memory holds, as a value: told what is appended and what time it is.
///
/// Appending and reading are O(what they touch), beside an O(streams) search for the one to drop when there are too many.
package struct ReplayContents: Sendable {
    private struct Stream {
        let epoch: UInt64
        var newest: UInt64 = 0
        /// From `first` on; what was trimmed stays as a dead beginning until it is half of all.
        var entries: [(entry: ReplayEntry, at: Duration)] = []
        var first = 0
        var bytes = 0
        var usedAt: UInt64 = 0

        var heldCount: Int { entries.count - first }
        var oldest: UInt64 { newest - UInt64(heldCount) + 1 }
        var standing: ReplayStanding { ReplayStanding(epoch: epoch, oldest: oldest, newest: newest) }

        mutating func trim(_ limits: ReplayLimits, _ now: Duration) {
            while heldCount > 0 {
                let (entry, time) = entries[first]
                let exceeds = heldCount > limits.count || (bytes > limits.bytes && heldCount > 1)
                guard exceeds || now - time > limits.age else { break }
                bytes -= entry.event.byteCount
                first += 1
            }
            if first * 2 >= entries.count, first > 0 {
                entries.removeFirst(first)
                first = 0
            }
        }
    }

    private let limits: ReplayLimits
    private var random: SplitMix64
    private var streams: [String: Stream] = [:]
    private var useCount: UInt64 = 0

    package init(_ limits: ReplayLimits, seed: UInt64) {
        self.limits = limits
        random = SplitMix64(seed: seed)
    }

    package mutating func append(_ event: ReplayEvent, to name: String, _ now: Duration) -> ReplayNotice {
        with(name, now) { stream in
            stream.newest += 1
            stream.bytes += event.byteCount
            let entry = ReplayEntry(sequence: stream.newest, event: event)
            stream.entries.append((entry, now))
            return ReplayNotice(stream: name, epoch: stream.epoch, entry: entry)
        }
    }

    package mutating func standing(of name: String, _ now: Duration) -> ReplayStanding {
        with(name, now) { $0.standing }
    }

    package mutating func page(of name: String, after position: ReplayPosition, limit: Int, _ now: Duration)
        -> ReplayPage
    {
        with(name, now) { stream in
            let standing = stream.standing
            guard position.epoch == stream.epoch, position.sequence <= stream.newest else { return .foreign(standing) }
            guard position.sequence >= standing.oldest - 1 else { return .gone(standing) }
            let begin = stream.first + Int(position.sequence - (standing.oldest - 1))
            let end = min(stream.entries.count, begin + max(0, limit))
            return .entries(stream.entries[begin..<end].map(\.entry), standing)
        }
    }

    /// Every stream has another epoch when it is next used.
    mutating func removeAll() { streams = [:] }

    private mutating func with<Result>(_ name: String, _ now: Duration, _ body: (inout Stream) -> Result) -> Result {
        useCount += 1
        if streams[name] == nil {
            if streams.count >= limits.streams, let least = streams.min(by: { $0.value.usedAt < $1.value.usedAt }) {
                streams[least.key] = nil
            }
            streams[name] = Stream(epoch: random.next())
        }
        // Taken out, so that its entries are not copied.
        var stream = streams.updateValue(Stream(epoch: 0), forKey: name) ?? Stream(epoch: random.next())
        stream.trim(limits, now)
        let result = body(&stream)
        stream.trim(limits, now)
        stream.usedAt = useCount
        streams[name] = stream
        return result
    }
}
