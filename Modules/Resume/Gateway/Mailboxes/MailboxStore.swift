/// The store of devices' mailboxes: for each a queue, which is a stream of the buffer, and a few named values. All
/// processes share it; `ReplayBufferRules` check its streams.
///
/// To the implementer:
/// - A value that was set is in every later answer of every process, until the stream is dropped as a whole.
/// - Every change, and every word that is passed, is told to every process, whichever caused it.
/// - A sender may hold a share of a mailbox and no more: `MailboxBounds`. The values of a sender are those whose names begin
///   with `latest/`, the sender's ID and `/`. All other values are the owner's.
/// - Setting the value `admitted`, which is the IDs of all admitted senders in 32 bytes each, removes what other senders have in
///   the mailbox: their values, and the contents of their queued messages. The numbers of those messages stay.
/// - Every throw is a `ReplayBufferError`.
public protocol MailboxStore: ReplayBuffer {
    /// Appends a sender's message to a mailbox's queue, as `append(_:to:)` does.
    ///
    /// In a full queue, a message makes room by removing the oldest one, unless that one waits for the owner, is another
    /// admitted sender's, and this sender holds more than its share.
    ///
    /// - Parameter sender: the ID of the sender, which the event begins with.
    /// - Returns: false where the queue has no room for this sender.
    func post(_ event: ReplayEvent, from sender: String, to stream: String) async throws -> Bool
    /// Gives a user's mailbox a place, in one step with counting the user's places, or renews the place that it has.
    ///
    /// A mailbox that wasn't enrolled for `MailboxBounds.idle` has lost its place. A store that is full makes room by removing such
    /// mailboxes, or the same user's, and never another user's.
    ///
    /// - Returns: false where the user has `max` mailboxes, or the store has no room.
    func enrol(_ mailbox: String, of user: String, max: Int) async throws -> Bool
    /// Removes a mailbox and frees its place. All processes are told that its value `removed` has changed.
    func remove(_ mailbox: String, of user: String) async throws
    /// Sets a named value of a mailbox.
    ///
    /// - Returns: false where the mailbox, or the sender's share of it, has no room: `MailboxBounds`. Nothing has changed then.
    func set(_ value: [UInt8], _ name: String, of stream: String) async throws -> Bool
    /// Returns named values of a mailbox.
    ///
    /// - Parameter names: nil for all.
    /// - Returns: those that there are.
    func values(_ names: [String]?, of stream: String) async throws -> [String: [UInt8]]
    /// Tells every process, and keeps nothing.
    func pass(_ bytes: [UInt8], to stream: String) async throws
    /// Returns a stream of the changes of all mailboxes other than events. Each call returns its own stream, which may
    /// drop a change.
    func words() -> AsyncStream<MailboxWord>
    /// Returns the changes of the mailboxes that are served here, and perhaps of others. By default these are `words()`.
    ///
    /// See `notices(of:)`. If changes may be missing, `MailboxWord.missed` follows.
    func words(of streams: ServedStreams) -> AsyncStream<MailboxWord>
}

extension MailboxStore {
    public func words(of streams: ServedStreams) -> AsyncStream<MailboxWord> { words() }
}

/// A change of a mailbox other than an event.
public enum MailboxWord: Hashable, Sendable {
    /// A value of that name was set.
    case changed(name: String, stream: String)
    /// Bytes that were passed and are not kept.
    case passed([UInt8], stream: String)
    /// Changes of the mailbox may be missing.
    case missed(stream: String)

    /// The stream that it happened to.
    public var stream: String {
        switch self {
        case .changed(_, let stream), .passed(_, let stream), .missed(let stream): stream
        }
    }
}

/// The bounds of a mailbox beside its queue.
public enum MailboxBounds {
    /// Maximum number of values of one mailbox.
    public static let valuesMax = 512
    /// Maximum number of bytes of all values of one mailbox: 2 MiB.
    public static let bytesMax = 2 << 20
    /// Maximum number of values of one sender in a mailbox.
    public static let senderValuesMax = 128
    /// Maximum number of bytes of all values of one sender in a mailbox: 512 KiB.
    public static let senderBytesMax = 512 << 10
    /// The part of a full queue that is one sender's share: a quarter of its messages and of its bytes.
    package static let queueShares = 4
    /// The time after which a mailbox that wasn't opened loses its place: 30 days.
    public static let idle = Duration.seconds(30 * 86_400)

    /// The bounds of a mailbox's queue: a thousand messages, four megabytes, one week.
    public static let queue = ReplayLimits(count: 1000, bytes: 4 << 20, age: .seconds(7 * 86_400))
}
