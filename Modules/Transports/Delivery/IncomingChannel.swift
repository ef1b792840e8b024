import MeshFoundation
import MeshIdentity
import MeshWire

/// The messages of one feature from one outbox of a peer, passed on in order and once each.
struct IncomingChannel: Sendable {
    /// Maximum distance between a sender's number and the next number to pass on.
    static let window: UInt64 = 4096

    /// The lowest number that hasn't been passed on.
    private(set) var next: UInt64
    /// Number of messages that `removeNext` returned and that aren't stored yet. They can't be acknowledged.
    private var unstoredCount = 0
    /// The lowest number that isn't stored.
    private var firstUnstored: UInt64 = 0
    /// Messages that came early or wait for space. nil stands for a message that arrived but is no longer wanted.
    private var held: [UInt64: WireMessage?] = [:]
    private var highest: UInt64 = 0
    /// The lowest number that the sender still offers.
    private var floor: UInt64

    init(first: UInt64) {
        next = first
        floor = first
    }

    var acknowledged: UInt64 { (unstoredCount > 0 ? min(firstUnstored, next) : next) - 1 }
    var heldCount: Int { held.count }
    /// True if a message that `removeNext` returned isn't stored yet.
    var awaitsStore: Bool { unstoredCount > 0 }

    /// Returns the memory of a held message, or of its empty place in `held` if it isn't wanted.
    static func heldBytes(_ message: WireMessage?) -> Int { message?.heldBytes ?? SessionSyncMetadata.fixedBytes }

    /// Returns true if the message hasn't arrived before and its number is within the window.
    func isNew(_ mark: WireMark) -> Bool {
        mark.sequence >= next && mark.sequence - next < Self.window && !held.keys.contains(mark.sequence)
    }

    /// - Returns: true if the message is new. Otherwise only the floor may have changed.
    mutating func hold(_ message: WireMessage?, _ mark: WireMark) -> Bool {
        raiseFloor(to: mark.first)
        guard isNew(mark) else { return false }
        held.updateValue(message, forKey: mark.sequence)
        highest = max(highest, mark.sequence)
        return true
    }

    mutating func raiseFloor(to first: UInt64) { floor = max(floor, first) }

    /// Removes the next message in order; nil if it hasn't arrived.
    /// - Parameter releasing: increased by the bytes of skipped messages that weren't wanted.
    mutating func removeNext(releasing bytes: inout Int) -> (number: UInt64, message: WireMessage)? {
        while true {
            skipMissing()
            guard let message = held.removeValue(forKey: next) else { return nil }
            next += 1
            if let message { return (next - 1, message) }
            bytes += Self.heldBytes(nil)
        }
    }

    /// Drops the held messages, because the sender may have lost the ones that they wait for.
    /// - Returns: the bytes that were held.
    mutating func forgetHeld() -> Int {
        defer { held = [:] }
        return heldBytes
    }

    /// Number of bytes of the held messages. O(held).
    var heldBytes: Int { held.values.reduce(0) { $0 + Self.heldBytes($1) } }

    /// Records that the message with this number waits for the store.
    mutating func noteUnstored(_ number: UInt64) {
        if unstoredCount == 0 { firstUnstored = number }
        unstoredCount += 1
    }

    /// Records that a message was stored or put back. Must be called in the order of `noteUnstored`.
    mutating func noteStored(_ number: UInt64) {
        unstoredCount -= 1
        firstUnstored = number + 1
    }

    /// Undoes `removeNext` for consecutive messages, up to the last one that it returned.
    mutating func putBack(_ messages: [(number: UInt64, message: WireMessage)]) {
        guard let first = messages.first else { return }
        for (number, message) in messages { held.updateValue(message, forKey: number) }
        next = min(next, first.number)
        highest = max(highest, messages.last?.number ?? 0)
    }

    /// Returns true if the next message in order has arrived.
    mutating func hasNext() -> Bool {
        skipMissing()
        return held.keys.contains(next)
    }

    private mutating func skipMissing() {
        guard floor > next else { return }
        if held.isEmpty {
            next = floor
        } else {
            while next < floor, !held.keys.contains(next) { next += 1 }
        }
    }

    /// Returns the ranges that have arrived beyond the acknowledged numbers, lowest first. O(window) if messages are
    /// held.
    func beyond(rangesMax: Int) -> [ClosedRange<UInt64>] {
        guard !held.isEmpty else { return [] }
        var ranges: [ClosedRange<UInt64>] = []
        var begin: UInt64?
        // The number after the acknowledged ones is never in a range: otherwise the acknowledgement would include it.
        var number = max(next, acknowledged + 2)
        while number <= highest, ranges.count < rangesMax {
            if held.keys.contains(number) {
                begin = begin ?? number
            } else if let first = begin {
                ranges.append(first...(number - 1))
                begin = nil
            }
            number += 1
        }
        if let first = begin, ranges.count < rangesMax { ranges.append(first...(number - 1)) }
        return ranges
    }
}

/// The identity of a channel of one peer: the outbox that numbers the messages, and their feature.
struct ChannelKey: Hashable {
    let outbox: UInt32
    let featureID: String
}

/// The identity of a message, over all its copies. It includes the feature, because two features may derive the same
/// event ID.
struct MessageID: Hashable {
    let featureID: String
    let eventID: UUID

    init(featureID: String, eventID: UUID) {
        self.featureID = featureID
        self.eventID = eventID
    }

    init(_ metadata: SessionSyncMetadata) { self.init(featureID: metadata.featureID, eventID: metadata.eventID) }
}

/// The latest messages of one peer. Detects a message that is sent again under another number.
struct RecentMessages: Sendable {
    static let limit = 4096

    private var order: [MessageID] = []
    private var place = 0
    /// The index in `order` of each message. A removed message leaves its place in `order`.
    private var known: [MessageID: Int] = [:]

    /// - Returns: true if the message is new.
    mutating func insert(_ id: MessageID) -> Bool {
        guard known[id] == nil else { return false }
        if order.count < Self.limit {
            known[id] = order.count
            order.append(id)
        } else {
            if known[order[place]] == place { known[order[place]] = nil }
            known[id] = place
            order[place] = id
            place = (place + 1) % Self.limit
        }
        return true
    }

    mutating func remove(_ id: MessageID) { known[id] = nil }
}
