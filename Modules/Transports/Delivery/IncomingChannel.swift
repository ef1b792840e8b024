import MeshFoundation
import MeshIdentity
import MeshWire

/// What has come of one feature from one outbox of a peer: passed on in order, each once.
struct IncomingChannel: Sendable {
    /// What a sender may be ahead of what has been passed on.
    static let window: UInt64 = 4096

    /// The lowest number that has not been passed on.
    private(set) var next: UInt64
    /// What has been passed on is what may be acknowledged, unless the store has not got it yet.
    private var unstoredCount = 0
    /// The store has everything below it.
    private var firstUnstored: UInt64 = 0
    /// What came before its turn, or waits for room.
    /// nil stands for one that has come and that nobody wants any more.
    private var held: [UInt64: WireMessage?] = [:]
    private var highest: UInt64 = 0
    /// The sender no longer offers anything below.
    private var floor: UInt64

    init(first: UInt64) {
        next = first
        floor = first
    }

    var acknowledged: UInt64 { (unstoredCount > 0 ? min(firstUnstored, next) : next) - 1 }
    var heldCount: Int { held.count }
    /// Something that was passed on is not in the store yet.
    var awaitsStore: Bool { unstoredCount > 0 }

    /// What a message takes here, and its place when nobody wants it.
    static func heldBytes(_ message: WireMessage?) -> Int { message?.heldBytes ?? SessionSyncMetadata.fixedBytes }

    /// Whether it has not come before, and is near enough.
    func isNews(_ mark: WireMark) -> Bool {
        mark.sequence >= next && mark.sequence - next < Self.window && !held.keys.contains(mark.sequence)
    }

    /// - Returns: whether the message is news; nothing else has changed when it is not.
    mutating func take(_ message: WireMessage?, _ mark: WireMark) -> Bool {
        raiseFloor(to: mark.first)
        guard isNews(mark) else { return false }
        held.updateValue(message, forKey: mark.sequence)
        highest = max(highest, mark.sequence)
        return true
    }

    mutating func raiseFloor(to first: UInt64) { floor = max(floor, first) }

    /// The next message in order; nil when it has not come.
    /// - Parameter lettingGo: grows by what was held and nobody wants.
    mutating func removeNext(lettingGo bytes: inout Int) -> (number: UInt64, message: WireMessage)? {
        while true {
            skipMissing()
            guard let message = held.removeValue(forKey: next) else { return nil }
            next += 1
            if let message { return (next - 1, message) }
            bytes += Self.heldBytes(nil)
        }
    }

    /// Nobody offers what is missing any more, and so nobody waits for what came before its turn.
    /// - Returns: the bytes that were held.
    mutating func forgetHeld() -> Int {
        defer { held = [:] }
        return heldBytes
    }

    /// O(held).
    var heldBytes: Int { held.values.reduce(0) { $0 + Self.heldBytes($1) } }

    /// The message with that number waits for the store.
    mutating func noteUnstored(_ number: UInt64) {
        if unstoredCount == 0 { firstUnstored = number }
        unstoredCount += 1
    }

    /// The store has it, or it has been put back. In the order of `noteUnstored`.
    mutating func noteStored(_ number: UInt64) {
        unstoredCount -= 1
        firstUnstored = number + 1
    }

    /// Undoes `removeNext` for the last that were removed and everything after.
    mutating func putBack(_ messages: [(number: UInt64, message: WireMessage)]) {
        guard let first = messages.first else { return }
        for (number, message) in messages { held.updateValue(message, forKey: number) }
        next = min(next, first.number)
        highest = max(highest, messages.last?.number ?? 0)
    }

    /// Whether the next in order is here.
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

    /// What has come beyond what is acknowledged, the lowest first. O(window) when something is held.
    func beyond(rangesMax: Int) -> [ClosedRange<UInt64>] {
        guard !held.isEmpty else { return [] }
        var ranges: [ClosedRange<UInt64>] = []
        var begin: UInt64?
        // The number after what is acknowledged is never a part: with it the acknowledgement would reach further.
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

/// Names a channel of one peer: the outbox that numbers the messages, and their feature.
struct ChannelKey: Hashable {
    let outbox: UInt32
    let featureID: String
}

/// What names a message wherever and however often it comes. An event's derived id leaves its feature out.
struct MessageID: Hashable {
    let featureID: String
    let eventID: UUID

    init(featureID: String, eventID: UUID) {
        self.featureID = featureID
        self.eventID = eventID
    }

    init(_ metadata: SessionSyncMetadata) { self.init(featureID: metadata.featureID, eventID: metadata.eventID) }
}

/// The messages of one peer that came last, so that one that is sent again under another number is noticed.
struct RecentMessages: Sendable {
    static let limit = 4096

    private var order: [MessageID] = []
    private var place = 0
    private var known: Set<MessageID> = []

    /// - Returns: whether it is new.
    mutating func insert(_ id: MessageID) -> Bool {
        guard known.insert(id).inserted else { return false }
        if order.count < Self.limit {
            order.append(id)
        } else {
            known.remove(order[place])
            order[place] = id
            place = (place + 1) % Self.limit
        }
        return true
    }

    mutating func remove(_ id: MessageID) { known.remove(id) }
}
