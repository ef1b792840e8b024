import MeshBase
import MeshWire

/// The reliable messages of one feature for one peer, in order.
///
/// Entries are numbered from 1 per outbox, which lasts for one launch. Messages that an earlier launch accepted keep
/// their outbox and numbers, so a peer that has one recognizes it. An entry stays until the peer acknowledges it or the
/// sender withdraws it.
struct OutgoingChannel: Sendable {
    enum Progress {
        /// Waits for the store.
        case unstored
        case ready
        case underWay
        /// The peer has it but can't pass it on yet, because an earlier one is missing. It may still lose it.
        case held
        /// Expired or canceled; not sent any more.
        case void
    }

    struct Entry: Sendable {
        let message: WireMessage
        let byteCount: Int
        let priority: DeliveryPriority
        /// True if `send` has already returned. If the store refuses the message, it goes back to the pending queue.
        var isPromised = false
        /// Milliseconds since 1970 by this side's clock.
        var expiresAt: UInt64?
        /// The moment of `expiresAt` by the monotonic clock.
        var deadline: UInt64 = .max
    }

    /// The delivery state of an entry. Separate from the entry, so that scans don't touch messages.
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
    /// Up to this number, the peer has every message or knows that it never comes.
    private(set) var acknowledged: UInt64
    /// The next number that hasn't been sent on this connection.
    private var cursor: UInt64
    private var resend = FirstInFirstOut<UInt64>()
    /// The time of the last floor sent to the peer.
    var floorSentAt: UInt64?
    /// The last receipt is complete below this number and says nothing about higher ones.
    private var coverage = UInt64.max
    private(set) var underWayCount = 0
    private(set) var underWayBytes = 0

    /// - Parameter acknowledged: 0 if unknown; then the peer gets a floor.
    init(_ key: ChannelKey, first: UInt64 = 1, acknowledged: UInt64 = 0) {
        self.key = key
        entries = NumberedQueue(first: first)
        flights = NumberedQueue(first: first)
        self.acknowledged = acknowledged
        cursor = first
    }

    /// True if nothing is left to send or report.
    var isOver: Bool { entries.isEmpty && !needsFloor }

    /// True if the peer must get a floor, so that it doesn't wait for missing numbers. Frames may carry an older one.
    var needsFloor: Bool { entries.first > acknowledged + 1 }

    mutating func append(_ entry: Entry, isStored: Bool = true) -> UInt64 {
        entries.append(entry)
        flights.append(
            Flight(progress: isStored ? .ready : .unstored, byteCount: entry.byteCount, priority: entry.priority))
        return entries.next - 1
    }

    // MARK: - Sending

    /// Returns the number and priority of the next entry to send; nil if none is ready.
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

    /// Marks everything unacknowledged for sending again, in order, when a connection begins or ends.
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

    /// Marks unacknowledged entries that were sent before a moment for sending again.
    /// - Parameter knownOnly: true to leave out numbers that the last receipt had no space for. A timeout includes
    ///   them: they would fill the window, nothing would be sent, and no receipt would come.
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
        /// The latest send time of the entries that have arrived.
        var newestSentAt: UInt64 = 0
        /// `newestSentAt`, if that entry was sent only once. It measures the round trip (Karn's rule).
        var measurableSentAt: UInt64?
    }

    /// - Parameter wanted: true to return the messages.
    mutating func acknowledge(
        upTo: UInt64, beyond: [ClosedRange<UInt64>], messagesWanted wanted: Bool
    ) -> (gain: Gain, count: Int) {
        var gain = Gain()
        var count = 0
        // A receipt for numbers that were never sent is ignored.
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

    /// Removes the unstored entries at the end, because the store refused them. Their numbers are free again.
    /// - Returns: the removed entries.
    mutating func withdrawUnstored() -> [Entry] {
        var gone: [Entry] = []
        while entries.next > entries.first, flights[entries.next - 1].progress == .unstored {
            gone.append(entries[entries.next - 1])
            entries.removeLast()
            flights.removeLast()
        }
        return gone
    }

    /// Returns true if there is a matching entry that the peer isn't known to have.
    func isWaiting(where isWanted: (Entry) -> Bool) -> Bool {
        (entries.first..<entries.next).contains { number in
            switch flights[number].progress {
            case .void, .held: false
            case .unstored, .ready, .underWay: isWanted(entries[number])
            }
        }
    }

    // MARK: - Withdrawing

    /// Voids unwanted entries, except unstored ones.
    /// - Returns: the entries. They may still arrive.
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
