import Foundation
import MeshRegister

/// What is known of one peer. Of it a store keeps what is in `KeptPeer`.
struct KeyPeer: Hashable, Sendable {
    /// The prints that it was told, until it has compared them.
    struct Listing: Hashable, Sendable {
        var nonce: UInt64
        var prints: Set<UInt64>
    }

    struct Letter: Hashable, Sendable {
        var nonce: UInt64
        var names: [KeyMessage.Version]
    }

    /// A large value on its way there, one piece at a time.
    struct Upload: Hashable, Sendable {
        var name: KeyMessage.Version
        var offset = 0
        var isInFlight = false
    }

    /// A large value on its way here.
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
    /// Higher with the one that was met later.
    var order: UInt64 = 0
    /// It is to be asked what differs.
    var isToBeAsked = false
    /// Asked, and not answered yet: further reasons to ask are folded into this.
    var isAsked = false
    /// What differs there from here, and is to be told.
    var answer: KeyMessage?
    var listing: Listing?
    private(set) var due = KeyQueue()
    /// On its way, by name and by message.
    private(set) var sent: [String: StateVersion] = [:]
    private(set) var letters: [UInt64: [KeyMessage.Version]] = [:]
    /// Taken back, and perhaps on their way all the same: what confirms them late counts. At most `KeyLimits.lettersMax`, of
    /// which the oldest go.
    private var late: [Letter] = []
    var upload: Upload?
    var download: Download?
    var confirmed: [String: StateVersion] = [:]
    var refused: [String: StateVersion] = [:]
    var report: [UInt64] = []
    var pieceMark: KeyMessage.PieceMark?
    var refusals: [KeyMessage.Version] = []
    var retryAt: Duration?
    var retryDelay = Duration.seconds(2)
    var progress = KeyProgress()

    var isWaiting: Bool { isAsked || !sent.isEmpty || upload?.isInFlight ?? false }
    /// What is still to be answered or confirmed: changes with each answer that brings something about.
    var standing: [Int] { [isAsked ? 1 : 0, due.count + sent.count, upload?.offset ?? 0] }

    mutating func enqueue(_ key: String, _ version: StateVersion) {
        guard sent[key] != version, refused[key] != version else { return }
        if due.isEmpty, sent.isEmpty { progress.confirmed = 0 }
        confirmed[key] = nil
        due.insert(key)
    }

    mutating func dequeue(_ key: String) {
        due.remove(key)
        if upload?.name.key == key { upload = nil }
    }

    mutating func order(_ rank: (String) -> KeyQueue.Rank) -> [String] { due.ordered(by: rank) }

    mutating func send(_ items: [KeyMessage.Item], in nonce: UInt64) {
        letters[nonce] = items.map(\.name)
        for item in items {
            due.remove(item.key)
            sent[item.key] = item.entry.version
        }
    }

    /// The items of a message are durable there.
    mutating func confirm(_ nonce: UInt64, isHeld: (KeyMessage.Version) -> Bool) {
        for name in takeLetter(nonce) {
            if sent[name.key] == name.version { sent[name.key] = nil }
            guard refused[name.key] != name.version, isHeld(name) else { continue }
            due.remove(name.key)
            confirmed[name.key] = name.version
            progress.confirmed += 1
        }
        // Of the others nothing is awaited any more of which newer ones were sent, or older ones confirmed.
        letters = letters.filter { $0.value.contains { sent[$0.key] == $0.version } }
    }

    private mutating func takeLetter(_ nonce: UInt64) -> [KeyMessage.Version] {
        if let names = letters.removeValue(forKey: nonce) { return names }
        return late.firstIndex { $0.nonce == nonce }.map { late.remove(at: $0).names } ?? []
    }

    /// What is on its way counts as lost.
    mutating func takeBack() {
        for key in sent.keys { due.insert(key) }
        late += letters.map(Letter.init).sorted { $0.nonce < $1.nonce }
        late.removeFirst(max(late.count - KeyLimits.lettersMax, 0))
        (sent, letters) = ([:], [:])
        upload?.isInFlight = false
    }
}

/// Names to be sent, in an order that is found once for all of them.
struct KeyQueue: Hashable, Sendable {
    /// The most urgent first; then by size in steps of 4 KiB, so that a large value does not keep the others from going;
    /// then bucket by bucket, so that of what has arrived when a link is lost few buckets differ.
    struct Rank: Hashable, Comparable {
        var urgency: Int
        var size: Int
        var bucket: Int
        var key: String

        static func < (left: Rank, right: Rank) -> Bool {
            if left.urgency != right.urgency { return left.urgency < right.urgency }
            if left.size != right.size { return left.size < right.size }
            if left.bucket != right.bucket { return left.bucket < right.bucket }
            return left.key < right.key
        }
    }

    private var keys: Set<String> = []
    private var order: [String]?

    var isEmpty: Bool { keys.isEmpty }
    var count: Int { keys.count }

    mutating func insert(_ key: String) {
        if keys.insert(key).inserted { order = nil }
    }

    mutating func remove(_ key: String) { keys.remove(key) }

    /// The names in order.
    mutating func ordered(by rank: (String) -> Rank) -> [String] {
        let order = order?.filter(keys.contains) ?? keys.map(rank).sorted().map(\.key)
        self.order = order
        return order
    }

    static func == (left: Self, right: Self) -> Bool { left.keys == right.keys }
    func hash(into hasher: inout Hasher) { hasher.combine(keys) }
}

/// How far the exchange of keys with the peers is.
public struct KeyProgress: Hashable, Sendable {
    /// Keys that have come since the present exchange began.
    public internal(set) var arrived = 0
    /// Keys of which the peers have said that they follow.
    public internal(set) var following = 0
    /// Keys of the present exchange that the peers have.
    public internal(set) var confirmed = 0
    /// Keys that are still to go, or under way.
    public internal(set) var waiting = 0

    /// Whether nothing is under way, in either direction.
    public var isComplete: Bool { following == 0 && waiting == 0 }
    /// From 0 to 1.
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
