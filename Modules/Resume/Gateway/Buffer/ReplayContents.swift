import MeshBase
import MeshMailbox

/// The contents of a buffer in memory, as a value. Appended events and the time are passed in.
///
/// Appending and reading are O(entries touched). If there are too many streams, finding the one to drop is O(streams).
package struct ReplayContents: Sendable {
    private struct Stream {
        let epoch: UInt64
        var newest: UInt64 = 0
        /// The entries, of which those from index `first` on are held. Trimmed entries before it are removed once they
        /// are half of all.
        var entries: [(entry: ReplayEntry, at: Duration, sender: String?)] = []
        /// The number and bytes of each sender's messages, if this is a mailbox.
        var senders: [String: (count: Int, bytes: Int)] = [:]
        var first = 0
        var bytes = 0
        var usedAt: UInt64 = 0

        mutating func append(_ event: ReplayEvent, from sender: String?, to name: String, _ now: Duration)
            -> ReplayNotice
        {
            newest += 1
            bytes += event.byteCount
            let entry = ReplayEntry(sequence: newest, event: event)
            entries.append((entry, now, sender))
            if let sender { count(sender, 1, event.byteCount) }
            return ReplayNotice(stream: name, epoch: epoch, entry: entry)
        }

        var heldCount: Int { entries.count - first }
        var oldest: UInt64 { newest - UInt64(heldCount) + 1 }
        var standing: ReplayStanding { ReplayStanding(epoch: epoch, oldest: oldest, newest: newest) }

        mutating func trim(_ limits: ReplayLimits, _ now: Duration) {
            while heldCount > 0 {
                let time = entries[first].at
                let exceeds = heldCount > limits.count || (bytes > limits.bytes && heldCount > 1)
                guard exceeds || now - time > limits.age else { break }
                removeOldest()
            }
            compact()
        }

        private mutating func removeOldest() {
            let (entry, _, sender) = entries[first]
            bytes -= entry.event.byteCount
            if let sender { count(sender, -1, -entry.event.byteCount) }
            first += 1
        }

        mutating func count(_ sender: String, _ count: Int, _ bytes: Int) {
            let held = senders[sender] ?? (0, 0)
            senders[sender] = held.count + count > 0 ? (held.count + count, held.bytes + bytes) : nil
        }

        /// Removes the oldest messages until one of `byteCount` bytes fits.
        ///
        /// - Returns: false if it doesn't fit, because one of those messages is another sender's and must stay. Then
        ///   nothing is removed: who gets a refusal keeps what was accepted before.
        mutating func evict(
            for byteCount: Int, from sender: String, takenUpTo taken: UInt64, _ limits: ReplayLimits
        ) -> Bool {
            let held = senders[sender] ?? (0, 0)
            let isBeyondShare =
                (held.count + 1) * MailboxBounds.queueShares > limits.count
                || (held.bytes + byteCount) * MailboxBounds.queueShares > limits.bytes
            var (end, bytesLeft) = (first, bytes)
            while end < entries.count, entries.count - end >= limits.count || bytesLeft + byteCount > limits.bytes {
                let (entry, _, holder) = entries[end]
                let mayGo = entry.sequence <= taken || holder == nil || holder == sender
                guard mayGo || !isBeyondShare else { return false }
                bytesLeft -= entry.event.byteCount
                end += 1
            }
            while first < end { removeOldest() }
            return true
        }

        /// Replaces the messages of senders that aren't admitted with empty ones, which keep their numbers.
        mutating func removeMessages(notOf admitted: Set<String>) {
            guard senders.keys.contains(where: { !admitted.contains($0) }), let event = QueuedPacket.removed else {
                return
            }
            for index in first..<entries.count {
                guard let sender = entries[index].sender, !admitted.contains(sender) else { continue }
                bytes += event.byteCount - entries[index].entry.event.byteCount
                (entries[index].entry.event, entries[index].sender) = (event, nil)
            }
            senders = senders.filter { admitted.contains($0.key) }
        }

        private mutating func compact() {
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
        with(name, now) { $0.append(event, from: nil, to: name, now) }
    }

    /// Appends a sender's message to a mailbox whose owner has taken the messages up to `taken`.
    ///
    /// - Returns: nil if the queue is full for this sender.
    mutating func post(
        _ event: ReplayEvent, from sender: String, to name: String, taken: MailboxPosition?, _ now: Duration
    ) -> ReplayNotice? {
        let limits = limits
        return with(name, now) { stream in
            let taken = taken?.epoch == stream.epoch ? taken?.sequence ?? 0 : 0
            guard stream.evict(for: event.byteCount, from: sender, takenUpTo: taken, limits) else { return nil }
            return stream.append(event, from: sender, to: name, now)
        }
    }

    /// Replaces the messages in a mailbox with empty ones, except those from these senders.
    mutating func removeMessages(in name: String, notOf senders: Set<String>, _ now: Duration) {
        guard streams[name] != nil else { return }
        with(name, now) { $0.removeMessages(notOf: senders) }
    }

    mutating func remove(_ name: String) { streams[name] = nil }

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

    /// Removes all streams. Each gets a new epoch when it is next used.
    mutating func removeAll() { streams = [:] }

    private mutating func with<Result>(_ name: String, _ now: Duration, _ body: (inout Stream) -> Result) -> Result {
        useCount += 1
        if streams[name] == nil {
            if streams.count >= limits.streams, let least = streams.min(by: { $0.value.usedAt < $1.value.usedAt }) {
                streams[least.key] = nil
            }
            streams[name] = Stream(epoch: random.next())
        }
        // The stream is taken out of the dictionary while it changes, which avoids copying its entries.
        var stream = streams.updateValue(Stream(epoch: 0), forKey: name) ?? Stream(epoch: random.next())
        stream.trim(limits, now)
        let result = body(&stream)
        stream.trim(limits, now)
        stream.usedAt = useCount
        streams[name] = stream
        return result
    }
}
