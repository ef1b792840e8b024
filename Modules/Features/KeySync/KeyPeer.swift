import Foundation
import MeshBase
import MeshRegister

/// The state of the exchange with one peer. `StoredPeer` is the part that is stored.
struct KeyPeer: Hashable, Sendable {
    /// Prints that were sent to the peer and that it hasn't compared yet.
    struct Listing: Hashable, Sendable {
        var nonce: UInt64
        var prints: Set<UInt64>
    }

    /// An unanswered request, with the digests of this replica when it was sent.
    struct Question: Hashable, Sendable {
        var nonce: UInt64
        var digests: [UInt64]
    }

    /// One version of the key at a place.
    struct Sent: Hashable, Sendable {
        var place: Int
        var version: StateVersion
    }

    struct SentMessage: Hashable, Sendable {
        var nonce: UInt64
        var items: [Sent]
    }

    /// A large value that is being sent, one piece at a time.
    struct Upload: Hashable, Sendable {
        var item: Sent
        var offset = 0
        var isInFlight = false
    }

    /// A large value that is being received.
    struct Download: Hashable, Sendable {
        var name: KeyMessage.Version
        var total: Int
        var bytes = Data()

        struct Extent: Hashable, Sendable {
            var name: KeyMessage.Version
            var total: Int
            var count: Int
        }

        var extent: Extent { Extent(name: name, total: total, count: bytes.count) }
    }

    var isReachable = false
    /// Higher for a peer that was met later.
    var order: UInt64 = 0
    /// True if a request must be sent to the peer.
    var needsRequest = false
    /// True while a request is unanswered. Its answer also serves reasons to ask that arise meanwhile, so no second
    /// request is sent.
    var awaitsAnswer = false
    var question: Question?
    /// Nonce of the message in which the peer's current launch first answered a request of this launch.
    private var answeredIn: UInt64?
    /// True once the peer has stated which changes of this device it knows.
    var hasStatedNewestChange = false
    /// True if the peer understands `KeyMessage.record`. `sentRecord` is the part of the record that was sent to it.
    var supportsRecords = false
    var sentRecord = StateVector()
    /// The differences that the next message will report.
    var answer: KeyMessage?
    var listing: Listing?
    private var marks = KeyMarks()
    private var queue = KeyQueue()
    /// Messages with items that the peer hasn't confirmed.
    private(set) var unconfirmedMessages: [UInt64: [Sent]] = [:]
    /// Messages that count as lost but may still arrive, so a late confirmation counts. At most the newest
    /// `KeyLimits.unconfirmedMessagesMax`.
    private var lostMessages: [SentMessage] = []
    var upload: Upload?
    var download: Download?
    /// Nonces of messages to confirm. At most twice `KeyLimits.unconfirmedMessagesMax`: a correct peer never waits for
    /// more confirmations.
    private(set) var report: [UInt64] = []
    var pieceMark: KeyMessage.PieceMark?
    /// Refused versions to report to the peer, oldest first and without duplicates. At most `KeyLimits.listMax` and
    /// `KeyLimits.refusedBytesMax`. The peer learns of others when it offers them again.
    private(set) var refusals: [KeyMessage.Version] = []
    private var refused: Set<KeyMessage.Version> = []
    private var refusedBytes = 0
    var retry = RetryPlan(from: .seconds(2), to: .seconds(300))
    var progress = KeyProgress()

    var isWaiting: Bool { awaitsAnswer || !unconfirmedMessages.isEmpty || upload?.isInFlight ?? false }
    /// Number of keys that are to be sent or are under way.
    var waitingCount: Int { marks.dueCount + marks.sentCount }
    /// Number of keys that are to be sent.
    var dueCount: Int { marks.dueCount }
    /// The state of unconfirmed keys. Every message that makes progress changes it.
    var unconfirmedState: [Int] { [waitingCount, unconfirmedMessages.count, upload?.offset ?? 0] }

    /// Notes that the peer's current launch has answered a request, so it has compared its keys with those of this
    /// launch.
    mutating func noteAnswer(in nonce: UInt64) {
        if !followsAnswer(nonce) { answeredIn = nonce }
    }

    /// Returns true if the peer's launch had answered a request of this launch before it sent this message. A launch numbers
    /// its messages upwards from a random number.
    func followsAnswer(_ nonce: UInt64) -> Bool { answeredIn.map { nonce &- $0 < 1 << 31 } ?? false }

    /// Returns true if the peer has the current version.
    func isConfirmed(_ place: Int) -> Bool { marks[place].contains(.confirmed) }

    /// Returns true if the peer refuses the current version.
    func isRefused(_ place: Int) -> Bool { marks[place].contains(.refused) }

    mutating func reportRefusal(_ name: KeyMessage.Version) {
        let bytes = name.key.utf8.count + name.version.author.utf8.count
        guard refusals.count < KeyLimits.listMax, refusedBytes + bytes <= KeyLimits.refusedBytesMax,
            refused.insert(name).inserted
        else { return }
        refusals.append(name)
        refusedBytes += bytes
    }

    /// Removes and returns the refusals that fit into a message, oldest first. Later messages take the others.
    /// - Parameter isFirst: true if the message has nothing else. It then takes at least one refusal.
    mutating func takeRefusals(from budget: inout KeyBudget, isFirst: Bool) -> [KeyMessage.Version] {
        let fitting = refusals.prefix { budget.take($0) }.count
        let taken = refusals.prefix(max(fitting, isFirst ? 1 : 0))
        for name in taken {
            refused.remove(name)
            refusedBytes -= name.key.utf8.count + name.version.author.utf8.count
        }
        refusals.removeFirst(taken.count)
        return Array(taken)
    }

    /// Notes messages whose items are durable here. Beyond the bound, the oldest are forgotten.
    mutating func report(_ nonces: [UInt64]) { report = (report + nonces).suffix(2 * KeyLimits.unconfirmedMessagesMax) }

    mutating func forgetReport() { report = [] }

    mutating func confirm(_ place: Int) { marks[place].insert(.confirmed) }

    mutating func unconfirm(_ place: Int) { marks[place].remove(.confirmed) }

    /// Returns true if the status is unknown: the peer has neither confirmed nor refused the current version, and it isn't
    /// queued or under way.
    func isStatusUnknown(_ place: Int) -> Bool { marks[place].isEmpty }

    mutating func refuse(_ place: Int) { marks[place].insert(.refused) }

    /// Resets the status, because the key has a new version.
    mutating func replace(_ place: Int) {
        marks[place].formIntersection(.due)
        if upload?.item.place == place { upload = nil }
    }

    mutating func enqueue(_ place: Int) {
        let present = marks[place]
        guard present.isDisjoint(with: [.sent, .refused]), present != .due else { return }
        if waitingCount == 0 { progress.confirmed = 0 }
        marks[place] = .due
        queue.order = nil
    }

    mutating func dequeue(_ place: Int) {
        marks[place].remove(.due)
        if upload?.item.place == place { upload = nil }
    }

    /// Returns the queued keys in sending order. `sort` is called only if keys were added since.
    mutating func order(_ sort: ([Int]) -> [Int]) -> [Int] {
        let order = queue.order?.filter { marks[$0].contains(.due) } ?? sort(marks.due)
        queue.order = order
        return order
    }

    mutating func send(_ items: [Sent], in nonce: UInt64) {
        unconfirmedMessages[nonce] = items
        for item in items { marks[item.place] = marks[item.place].subtracting(.due).union(.sent) }
    }

    /// Confirms the items of a message, which are durable at the peer.
    /// - Parameter isPresent: returns true if that version is still the current one.
    mutating func confirm(_ nonce: UInt64, isPresent: (Sent) -> Bool) {
        for item in removeUnconfirmed(nonce) where isPresent(item) {
            marks[item.place].remove(.sent)
            guard !isRefused(item.place) else { continue }
            marks[item.place] = .confirmed
            progress.confirmed += 1
        }
        // Drops messages whose items were all replaced, or confirmed through other messages.
        unconfirmedMessages = unconfirmedMessages.filter {
            $0.value.contains { marks[$0.place].contains(.sent) && isPresent($0) }
        }
    }

    private mutating func removeUnconfirmed(_ nonce: UInt64) -> [Sent] {
        if let items = unconfirmedMessages.removeValue(forKey: nonce) { return items }
        return lostMessages.firstIndex { $0.nonce == nonce }.map { lostMessages.remove(at: $0).items } ?? []
    }

    /// Treats all unconfirmed items as lost, and queues them again.
    mutating func requeueUnconfirmed() {
        marks.requeueSent()
        queue.order = nil
        lostMessages += unconfirmedMessages.map(SentMessage.init).sorted { $0.nonce < $1.nonce }
        lostMessages.removeFirst(max(lostMessages.count - KeyLimits.unconfirmedMessagesMax, 0))
        unconfirmedMessages = [:]
        upload?.isInFlight = false
    }
}

/// The status of each key at one peer, by place. It always refers to the current version.
struct KeyMarks: Hashable, Sendable {
    struct Mark: OptionSet, Hashable, Sendable {
        let rawValue: UInt8
        // In this order: to be sent, under way, confirmed by the peer, refused by the peer.
        static let due = Mark(rawValue: 1)
        static let sent = Mark(rawValue: 2)
        static let confirmed = Mark(rawValue: 4)
        static let refused = Mark(rawValue: 8)
    }

    private var marks: [Mark] = []
    private(set) var dueCount = 0
    private(set) var sentCount = 0

    subscript(place: Int) -> Mark {
        get { place < marks.count ? marks[place] : [] }
        set {
            let present = self[place]
            guard newValue != present else { return }
            if place >= marks.count { marks += Array(repeating: [], count: place + 1 - marks.count) }
            marks[place] = newValue
            dueCount += (newValue.contains(.due) ? 1 : 0) - (present.contains(.due) ? 1 : 0)
            sentCount += (newValue.contains(.sent) ? 1 : 0) - (present.contains(.sent) ? 1 : 0)
        }
    }

    var due: [Int] { dueCount == 0 ? [] : marks.indices.filter { marks[$0].contains(.due) } }

    mutating func requeueSent() {
        guard sentCount > 0 else { return }
        for place in marks.indices where marks[place].contains(.sent) {
            marks[place] = marks[place].subtracting(.sent).union(.due)
        }
        (dueCount, sentCount) = (dueCount + sentCount, 0)
    }
}

/// A cached sending order, which may contain keys that are no longer due. Comparisons of peers ignore it.
private struct KeyQueue: Hashable, Sendable {
    var order: [Int]?

    static func == (left: Self, right: Self) -> Bool { true }
    func hash(into hasher: inout Hasher) {}
}

/// The progress of exchanging keys with the peers.
public struct KeyProgress: Hashable, Sendable {
    /// Number of keys that have arrived in the current exchange.
    public internal(set) var arrived = 0
    /// Number of keys that the peers have announced and that haven't arrived.
    public internal(set) var following = 0
    /// Number of keys that the peers have confirmed in the current exchange.
    public internal(set) var confirmed = 0
    /// Number of keys that are to be sent or are under way.
    public internal(set) var waiting = 0

    /// True if no key is under way in either direction.
    public var isComplete: Bool { following == 0 && waiting == 0 }
    /// The share of keys that have been exchanged, from 0 to 1.
    public var fraction: Double {
        let total = arrived + following + confirmed + waiting
        return total == 0 ? 1 : Double(arrived + confirmed) / Double(total)
    }

    static func + (left: Self, right: Self) -> Self {
        var sum = left
        sum.arrived += right.arrived
        sum.following += right.following
        sum.confirmed += right.confirmed
        sum.waiting += right.waiting
        return sum
    }
}
