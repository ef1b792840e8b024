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
        case inFlight
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
        /// The time of expiry, in milliseconds since 1970 by this side's clock; nil for never.
        var expiresAt: UInt64?
        /// The moment of `expiresAt` by the monotonic clock.
        var deadline: UInt64 = .max
    }

    /// The delivery state of an entry. Separate from the entry, so that scans don't touch messages.
    struct EntryState: Sendable {
        var progress: Progress
        var byteCount: Int
        var priority: DeliveryPriority
        var sentAt: UInt64 = 0
        var attempts: UInt8 = 0
    }

    let key: ChannelKey
    private(set) var entries: NumberedQueue<Entry>
    /// The state of each entry.
    private(set) var states: NumberedQueue<EntryState>
    /// The number up to which the peer has every message, or knows that it won't arrive.
    private(set) var acknowledged: UInt64
    /// The next number that hasn't been sent on this connection.
    private var cursor: UInt64
    private var resend = FirstInFirstOut<UInt64>()
    /// The time of the last floor sent to the peer.
    var floorSentAt: UInt64?
    /// The lowest number that the last receipt had no space to report. Below this number, the receipt is complete.
    private var coverage = UInt64.max
    private(set) var inFlightCount = 0
    private(set) var inFlightBytes = 0

    /// - Parameter acknowledged: 0 if unknown; then the peer gets a floor.
    init(_ key: ChannelKey, first: UInt64 = 1, acknowledged: UInt64 = 0) {
        self.key = key
        entries = NumberedQueue(first: first)
        states = NumberedQueue(first: first)
        self.acknowledged = acknowledged
        cursor = first
    }

    /// True if nothing is left to send or report.
    var isFinished: Bool { entries.isEmpty && !needsFloor }

    /// True if the peer must get a floor, so that it doesn't wait for missing numbers. Frames may carry an older one.
    var needsFloor: Bool { entries.first > acknowledged + 1 }

    mutating func append(_ entry: Entry, isStored: Bool = true) -> UInt64 {
        entries.append(entry)
        states.append(
            EntryState(progress: isStored ? .ready : .unstored, byteCount: entry.byteCount, priority: entry.priority))
        return entries.next - 1
    }

    /// Appends a message that was cancelled. It takes a number, but isn't sent.
    mutating func appendVoid(_ entry: Entry) {
        states[append(entry)].progress = .void
        dropVoid()
    }

    // MARK: - Sending

    /// Returns the number and priority of the next entry to send; nil if none is ready.
    mutating func next() -> (number: UInt64, priority: DeliveryPriority)? {
        while let number = resend.first {
            if entries.contains(number), states[number].progress == .ready {
                return (number, states[number].priority)
            }
            _ = resend.takeFirst()
        }
        cursor = max(cursor, entries.first)
        while cursor < entries.next {
            switch states[cursor].progress {
            case .ready: return (cursor, states[cursor].priority)
            case .unstored: return nil
            case .inFlight, .held, .void: cursor += 1
            }
        }
        return nil
    }

    mutating func send(_ number: UInt64, now: UInt64) -> Entry {
        states[number].progress = .inFlight
        states[number].sentAt = now
        states[number].attempts &+= 1
        inFlightCount += 1
        inFlightBytes += states[number].byteCount
        return entries[number]
    }

    /// Marks everything unacknowledged for sending again, in order, when a connection begins or ends.
    mutating func rewind() {
        for number in entries.first..<entries.next {
            switch states[number].progress {
            case .inFlight, .held: states[number].progress = .ready
            case .unstored, .ready, .void: break
            }
        }
        resend = FirstInFirstOut()
        cursor = entries.first
        coverage = .max
        inFlightCount = 0
        inFlightBytes = 0
        floorSentAt = nil
    }

    /// Marks unacknowledged entries that were sent before a moment for sending again.
    /// - Parameter coveredOnly: true to leave out numbers that the last receipt had no space for. A timeout must
    ///   include them. Otherwise they would fill the window, nothing would be sent, and no receipt would come.
    mutating func markLost(sentBefore moment: UInt64, coveredOnly: Bool) -> Int {
        guard inFlightCount > 0 else { return 0 }
        var count = 0
        let end = min(cursor + 1, entries.next, coveredOnly && coverage > entries.first ? coverage : .max)
        for number in entries.first..<end
        where states[number].progress == .inFlight && states[number].sentAt < moment {
            states[number].progress = .ready
            inFlightCount -= 1
            inFlightBytes -= states[number].byteCount
            if number < cursor { resend.append(number) }
            count += 1
        }
        return count
    }

    // MARK: - Receipts

    struct Acknowledgement {
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
    ) -> (acknowledgement: Acknowledgement, count: Int) {
        var acknowledgement = Acknowledgement()
        var count = 0
        // A receipt for numbers that were never sent is ignored.
        guard upTo < entries.next, beyond.last.map({ $0.upperBound < entries.next }) ?? true else {
            return (acknowledgement, 0)
        }
        while entries.first <= upTo, let entry = entries.removeFirst(), let state = states.removeFirst() {
            note(state, in: &acknowledgement)
            removeInFlight(state)
            guard state.progress != .void else { continue }
            count += 1
            acknowledgement.byteCount += entry.byteCount
            if wanted { acknowledgement.messages.append(entry.message) }
        }
        acknowledged = max(acknowledged, upTo)
        let isWhole = beyond.count < WireReport.Receipt.rangesMax
        coverage = isWhole ? .max : beyond.last.map { $0.upperBound + 1 } ?? .max
        for range in beyond {
            guard range.upperBound >= entries.first else { continue }
            for number in max(range.lowerBound, entries.first)...range.upperBound
            where states[number].progress == .inFlight || states[number].progress == .ready {
                note(states[number], in: &acknowledgement)
                removeInFlight(states[number])
                states[number].progress = .held
            }
        }
        dropVoid()
        return (acknowledgement, count)
    }

    private func note(_ state: EntryState, in acknowledgement: inout Acknowledgement) {
        guard state.progress == .inFlight, state.sentAt >= acknowledgement.newestSentAt else { return }
        acknowledgement.newestSentAt = state.sentAt
        acknowledgement.measurableSentAt = state.attempts == 1 ? state.sentAt : nil
    }

    private mutating func removeInFlight(_ state: EntryState) {
        guard state.progress == .inFlight else { return }
        inFlightCount -= 1
        inFlightBytes -= state.byteCount
    }

    // MARK: - The store

    mutating func stored(upTo number: UInt64) {
        var index = min(number + 1, entries.next)
        while index > entries.first, states[index - 1].progress == .unstored {
            index -= 1
            states[index].progress = .ready
        }
    }

    /// Removes the unstored entries at the end, because the store refused them. Their numbers are free again.
    /// - Returns: the removed entries.
    mutating func withdrawUnstored() -> [Entry] {
        var gone: [Entry] = []
        while entries.next > entries.first, states[entries.next - 1].progress == .unstored {
            gone.append(entries[entries.next - 1])
            entries.removeLast()
            states.removeLast()
        }
        return gone
    }

    /// Returns true if there is a matching entry that the peer isn't known to have.
    func isWaiting(where isWanted: (Entry) -> Bool) -> Bool {
        (entries.first..<entries.next).contains { number in
            switch states[number].progress {
            case .void, .held: false
            case .unstored, .ready, .inFlight: isWanted(entries[number])
            }
        }
    }

    // MARK: - Withdrawing

    /// Voids unwanted entries, except unstored ones.
    /// - Returns: the entries with their numbers. They may still arrive.
    mutating func void(where isUnwanted: (Entry) -> Bool) -> [(number: UInt64, entry: Entry)] {
        var gone: [(number: UInt64, entry: Entry)] = []
        for number in entries.first..<entries.next {
            let state = states[number]
            guard state.progress != .void, state.progress != .unstored else { continue }
            let entry = entries[number]
            guard isUnwanted(entry) else { continue }
            removeInFlight(state)
            states[number].progress = .void
            gone.append((number, entry))
        }
        if !gone.isEmpty { dropVoid() }
        return gone
    }

    private mutating func dropVoid() {
        while !entries.isEmpty, states[entries.first].progress == .void {
            _ = entries.removeFirst()
            _ = states.removeFirst()
            floorSentAt = nil
        }
    }
}
