import Foundation
import MeshBase
import MeshRegister

/// What is known of one peer. Of it a store keeps what is in `KeptPeer`.
struct KeyPeer: Hashable, Sendable {
    /// The prints that it was told, until it has compared them.
    struct Listing: Hashable, Sendable {
        var nonce: UInt64
        var prints: Set<UInt64>
    }

    /// What it was asked: of each bucket what was here.
    struct Question: Hashable, Sendable {
        var nonce: UInt64
        var digests: [UInt64]
    }

    /// A key's place, in one version.
    struct Sent: Hashable, Sendable {
        var place: Int
        var version: StateVersion
    }

    struct Letter: Hashable, Sendable {
        var nonce: UInt64
        var items: [Sent]
    }

    /// A large value on its way there, one piece at a time.
    struct Upload: Hashable, Sendable {
        var item: Sent
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
    var question: Question?
    /// Nonce of the message in which the peer's present launch first answered a question of this launch.
    private var answeredIn: UInt64?
    /// It has said what it knows of this peer's changes.
    var hasVouched = false
    /// It understands `KeyMessage.record`, of which it was told so much.
    var readsRecords = false
    var told = StateVector()
    /// What differs there from here, and is to be told.
    var answer: KeyMessage?
    var listing: Listing?
    private var marks = KeyMarks()
    private var queue = KeyQueue()
    /// Messages with items on their way.
    private(set) var letters: [UInt64: [Sent]] = [:]
    /// Taken back, and perhaps on their way all the same: what confirms them late counts. At most `KeyLimits.lettersMax`, of
    /// which the oldest go.
    private var late: [Letter] = []
    var upload: Upload?
    var download: Download?
    /// Messages to confirm. At most twice `KeyLimits.lettersMax`: a peer that keeps the rules waits for no more confirmations.
    private(set) var report: [UInt64] = []
    var pieceMark: KeyMessage.PieceMark?
    /// Versions that this replica has refused, each once, until the peer is told. At most `KeyLimits.listMax` and
    /// `KeyLimits.refusedBytesMax`; what it offers beyond that, it is told about when it offers it again.
    private(set) var refusals: [KeyMessage.Version] = []
    private var refused: Set<KeyMessage.Version> = []
    private var refusedBytes = 0
    var retry = RetryPlan(from: .seconds(2), to: .seconds(300))
    var progress = KeyProgress()

    var isWaiting: Bool { isAsked || !letters.isEmpty || upload?.isInFlight ?? false }
    /// Keys that are still to go, or under way.
    var waitingCount: Int { marks.dueCount + marks.sentCount }
    /// Keys that are still to go.
    var dueCount: Int { marks.dueCount }
    /// What is still to be confirmed: changes with each message that brings something about.
    var standing: [Int] { [waitingCount, letters.count, upload?.offset ?? 0] }

    /// The peer has answered a question: it knows what this launch has.
    mutating func noteAnswer(in nonce: UInt64) {
        if !followsAnswer(nonce) { answeredIn = nonce }
    }

    /// Whether the peer's launch that sent this message had answered a question of this launch by then. A launch counts its
    /// messages upwards from a random number.
    func followsAnswer(_ nonce: UInt64) -> Bool { answeredIn.map { nonce &- $0 < 1 << 31 } ?? false }

    /// Whether the peer has what is there now.
    func isConfirmed(_ place: Int) -> Bool { marks[place].contains(.confirmed) }

    /// Whether the peer does not take what is there now.
    func isRefused(_ place: Int) -> Bool { marks[place].contains(.refused) }

    mutating func tellRefused(_ name: KeyMessage.Version) {
        let bytes = name.key.utf8.count + name.version.author.utf8.count
        guard refusals.count < KeyLimits.listMax, refusedBytes + bytes <= KeyLimits.refusedBytesMax,
            refused.insert(name).inserted
        else { return }
        refusals.append(name)
        refusedBytes += bytes
    }

    mutating func forgetRefusals() { (refusals, refused, refusedBytes) = ([], [], 0) }

    /// The items of these messages are durable here. Of too many the oldest are forgotten.
    mutating func report(_ nonces: [UInt64]) { report = (report + nonces).suffix(2 * KeyLimits.lettersMax) }

    mutating func forgetReport() { report = [] }

    mutating func confirm(_ place: Int) { marks[place].insert(.confirmed) }

    mutating func unconfirm(_ place: Int) { marks[place].remove(.confirmed) }

    /// Whether the peer neither has, refuses nor is about to get what is there now.
    func isLoose(_ place: Int) -> Bool { marks[place].isEmpty }

    mutating func refuse(_ place: Int) { marks[place].insert(.refused) }

    /// Another version is there, of which the peer has said nothing yet.
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

    /// What is to be sent, in an order that is found once for all of it.
    mutating func order(_ sort: ([Int]) -> [Int]) -> [Int] {
        let order = queue.order?.filter { marks[$0].contains(.due) } ?? sort(marks.due)
        queue.order = order
        return order
    }

    mutating func send(_ items: [Sent], in nonce: UInt64) {
        letters[nonce] = items
        for item in items { marks[item.place] = marks[item.place].subtracting(.due).union(.sent) }
    }

    /// The items of a message are durable there.
    /// - Parameter isPresent: whether that version is still the one that is here.
    mutating func confirm(_ nonce: UInt64, isPresent: (Sent) -> Bool) {
        for item in takeLetter(nonce) where isPresent(item) {
            marks[item.place].remove(.sent)
            guard !isRefused(item.place) else { continue }
            marks[item.place] = .confirmed
            progress.confirmed += 1
        }
        // Of the others nothing is awaited any more of which newer ones were sent, or older ones confirmed.
        letters = letters.filter { $0.value.contains { marks[$0.place].contains(.sent) && isPresent($0) } }
    }

    private mutating func takeLetter(_ nonce: UInt64) -> [Sent] {
        if let items = letters.removeValue(forKey: nonce) { return items }
        return late.firstIndex { $0.nonce == nonce }.map { late.remove(at: $0).items } ?? []
    }

    /// What is on its way counts as lost.
    mutating func takeBack() {
        marks.takeBack()
        queue.order = nil
        late += letters.map(Letter.init).sorted { $0.nonce < $1.nonce }
        late.removeFirst(max(late.count - KeyLimits.lettersMax, 0))
        letters = [:]
        upload?.isInFlight = false
    }
}

/// What is known of a peer's keys, by their places: always of the version that is here now.
struct KeyMarks: Hashable, Sendable {
    struct Mark: OptionSet, Hashable, Sendable {
        let rawValue: UInt8
        /// It is to be sent; it is on its way; the peer has it; the peer does not take it.
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

    mutating func takeBack() {
        guard sentCount > 0 else { return }
        for place in marks.indices where marks[place].contains(.sent) {
            marks[place] = marks[place].subtracting(.sent).union(.due)
        }
        (dueCount, sentCount) = (dueCount + sentCount, 0)
    }
}

/// An order that was found, of which some may be gone since. It says nothing that the marks do not.
private struct KeyQueue: Hashable, Sendable {
    var order: [Int]?

    static func == (left: Self, right: Self) -> Bool { true }
    func hash(into hasher: inout Hasher) {}
}

/// The progress of exchanging keys with the peers.
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
