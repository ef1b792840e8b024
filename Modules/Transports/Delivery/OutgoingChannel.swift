import MeshBase
import MeshWire

/// What one peer is still to get of one feature, reliably and in order.
///
/// Entries are numbered from 1 for the life of the outbox, which is one launch. What an earlier launch accepted keeps its outbox
/// and its numbers, so a peer that has it knows it. An entry stays from the moment it is accepted until the peer acknowledges it
/// or the sender withdraws it.
struct OutgoingChannel: Sendable {
    enum Progress {
        /// Waits for the store.
        case unstored
        case ready
        case underWay
        /// The peer holds it and could not pass it on yet, because an earlier one is missing. It may still lose it.
        case held
        /// Nobody wants it any more.
        case void
    }

    struct Entry: Sendable {
        let message: WireMessage
        let byteCount: Int
        let priority: DeliveryPriority
        /// A store that does not take it gives it back; nobody waits to be told.
        var isPromised = false
        /// Milliseconds since 1970 by the own clock.
        var expiresAt: UInt64?
        /// The same moment by the clock that never jumps.
        var deadline: UInt64 = .max
    }

    /// Where an entry is. Kept apart from it, so that looking through all of them touches no message.
    struct Flight: Sendable {
        var progress: Progress
        var byteCount: Int
        var priority: DeliveryPriority
        var sentAt: UInt64 = 0
        var attempts: UInt8 = 0
    }

    let key: ChannelKey
    private(set) var entries: NumberedQueue<Entry>
    /// One for each entry.
    private(set) var flights: NumberedQueue<Flight>
    /// The peer has everything up to it, or knows that it never comes.
    private(set) var acknowledged: UInt64
    /// The next number that has not been sent on this connection.
    private var cursor: UInt64
    private var resend = FirstInFirstOut<UInt64>()
    /// When the peer was last told where the channel begins.
    var floorSentAt: UInt64?
    /// Below it the last receipt tells everything that has arrived; of what is beyond it knows nothing.
    private var coverage = UInt64.max
    private(set) var underWayCount = 0
    private(set) var underWayBytes = 0

    /// - Parameter acknowledged: 0 when it is not known, so that the peer is told where the channel begins.
    init(_ key: ChannelKey, first: UInt64 = 1, acknowledged: UInt64 = 0) {
        self.key = key
        entries = NumberedQueue(first: first)
        flights = NumberedQueue(first: first)
        self.acknowledged = acknowledged
        cursor = first
    }

    /// Nothing is left to say of it: the peer has all, or knows that the rest never comes.
    var isOver: Bool { entries.isEmpty && !needsFloor }

    /// The peer waits for numbers that never come. What is under way may have been sent before that was known.
    var needsFloor: Bool { entries.first > acknowledged + 1 }

    mutating func append(_ entry: Entry, isStored: Bool = true) -> UInt64 {
        entries.append(entry)
        flights.append(
            Flight(progress: isStored ? .ready : .unstored, byteCount: entry.byteCount, priority: entry.priority))
        return entries.next - 1
    }

    // MARK: - Sending

    /// The number and the priority of what is to be sent next; nil when nothing is ready.
    mutating func next() -> (number: UInt64, priority: DeliveryPriority)? {
        while let number = resend.first {
            if entries.contains(number), flights[number].progress == .ready {
                return (number, flights[number].priority)
            }
            _ = resend.takeFirst()
        }
        cursor = max(cursor, entries.first)
        while cursor < entries.next {
            switch flights[cursor].progress {
            case .ready: return (cursor, flights[cursor].priority)
            case .unstored: return nil
            case .underWay, .held, .void: cursor += 1
            }
        }
        return nil
    }

    mutating func send(_ number: UInt64, now: UInt64) -> Entry {
        flights[number].progress = .underWay
        flights[number].sentAt = now
        flights[number].attempts &+= 1
        underWayCount += 1
        underWayBytes += flights[number].byteCount
        return entries[number]
    }

    /// A connection has ended, or begins: what the peer has not acknowledged is sent again, in order.
    mutating func rewind() {
        for number in entries.first..<entries.next {
            switch flights[number].progress {
            case .underWay, .held: flights[number].progress = .ready
            case .unstored, .ready, .void: break
            }
        }
        resend = FirstInFirstOut()
        cursor = entries.first
        coverage = .max
        underWayCount = 0
        underWayBytes = 0
        floorSentAt = nil
    }

    /// What was sent before that moment and has not been acknowledged is sent again.
    /// - Parameter knownOnly: not what the last receipt had no room to speak of. Time takes that for lost too: it would fill the
    ///   window, nothing would be sent, and so no receipt would come.
    mutating func giveUp(sentBefore moment: UInt64, knownOnly: Bool) -> Int {
        guard underWayCount > 0 else { return 0 }
        var count = 0
        let end = min(cursor + 1, entries.next, knownOnly && coverage > entries.first ? coverage : .max)
        for number in entries.first..<end
        where flights[number].progress == .underWay && flights[number].sentAt < moment {
            flights[number].progress = .ready
            underWayCount -= 1
            underWayBytes -= flights[number].byteCount
            if number < cursor { resend.append(number) }
            count += 1
        }
        return count
    }

    // MARK: - Receipts

    struct Gain {
        var messages: [WireMessage] = []
        var byteCount = 0
        /// When the one that was sent last of those that have arrived was sent.
        var newestSentAt: UInt64 = 0
        /// The same, if it was sent only once: what a round trip is measured by (Karn's rule).
        var measurableSentAt: UInt64?
    }

    /// - Parameter wanted: whether the messages are to be handed back.
    mutating func acknowledge(
        upTo: UInt64, beyond: [ClosedRange<UInt64>], messagesWanted wanted: Bool
    ) -> (gain: Gain, count: Int) {
        var gain = Gain()
        var count = 0
        // Beyond what was ever sent: nonsense.
        guard upTo < entries.next, beyond.last.map({ $0.upperBound < entries.next }) ?? true else { return (gain, 0) }
        while entries.first <= upTo, let entry = entries.removeFirst(), let flight = flights.removeFirst() {
            note(flight, in: &gain)
            leave(flight)
            guard flight.progress != .void else { continue }
            count += 1
            gain.byteCount += entry.byteCount
            if wanted { gain.messages.append(entry.message) }
        }
        acknowledged = max(acknowledged, upTo)
        let isWhole = beyond.count < WireReport.Receipt.rangesMax
        coverage = isWhole ? .max : beyond.last.map { $0.upperBound + 1 } ?? .max
        for range in beyond {
            guard range.upperBound >= entries.first else { continue }
            for number in max(range.lowerBound, entries.first)...range.upperBound
            where flights[number].progress == .underWay || flights[number].progress == .ready {
                note(flights[number], in: &gain)
                leave(flights[number])
                flights[number].progress = .held
            }
        }
        dropVoid()
        return (gain, count)
    }

    private func note(_ flight: Flight, in gain: inout Gain) {
        guard flight.progress == .underWay, flight.sentAt >= gain.newestSentAt else { return }
        gain.newestSentAt = flight.sentAt
        gain.measurableSentAt = flight.attempts == 1 ? flight.sentAt : nil
    }

    private mutating func leave(_ flight: Flight) {
        guard flight.progress == .underWay else { return }
        underWayCount -= 1
        underWayBytes -= flight.byteCount
    }

    // MARK: - The store

    mutating func stored(upTo number: UInt64) {
        var index = min(number + 1, entries.next)
        while index > entries.first, flights[index - 1].progress == .unstored {
            index -= 1
            flights[index].progress = .ready
        }
    }

    /// The store did not take these and what came after them: their numbers are free again.
    /// - Returns: what is gone.
    mutating func withdrawUnstored() -> [Entry] {
        var gone: [Entry] = []
        while entries.next > entries.first, flights[entries.next - 1].progress == .unstored {
            gone.append(entries[entries.next - 1])
            entries.removeLast()
            flights.removeLast()
        }
        return gone
    }

    /// Whether there is such an entry that the peer is not known to have.
    func isWaiting(where isWanted: (Entry) -> Bool) -> Bool {
        (entries.first..<entries.next).contains { number in
            switch flights[number].progress {
            case .void, .held: false
            case .unstored, .ready, .underWay: isWanted(entries[number])
            }
        }
    }

    // MARK: - Withdrawing

    /// Makes void what is unwanted.
    /// - Returns: the entries, which may have arrived all the same.
    mutating func void(where isUnwanted: (Entry) -> Bool) -> [Entry] {
        var gone: [Entry] = []
        for number in entries.first..<entries.next {
            let flight = flights[number]
            guard flight.progress != .void, flight.progress != .unstored else { continue }
            let entry = entries[number]
            guard isUnwanted(entry) else { continue }
            leave(flight)
            flights[number].progress = .void
            gone.append(entry)
        }
        if !gone.isEmpty { dropVoid() }
        return gone
    }

    private mutating func dropVoid() {
        while !entries.isEmpty, flights[entries.first].progress == .void {
            _ = entries.removeFirst()
            _ = flights.removeFirst()
            floorSentAt = nil
        }
    }
}
