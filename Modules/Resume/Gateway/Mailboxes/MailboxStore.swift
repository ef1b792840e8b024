/// A store of devices' mailboxes. Each mailbox has a queue, which is a stream of the buffer, and a few named values.
/// All processes share the store. Check an implementation with `ReplayBufferRules` and `MailboxStoreRules`.
///
/// Requirements:
/// - After a value was set, every later answer of every process includes it, until the stream is dropped.
/// - Every process receives every change and every passed packet, whichever process caused it.
/// - A sender may hold a share of a mailbox and no more: `MailboxBounds`. A sender's values have names that begin with
///   `latest/`, the sender's ID and `/`. All other values are the owner's.
/// - Setting the value `admitted`, which contains the IDs of all admitted senders in 32 bytes each, removes the
///   contents of all other senders: their values and the bytes of their queued messages. The numbers of those messages
///   stay.
/// - Every error is a `ReplayBufferError`.
public protocol MailboxStore: ReplayBuffer {
    /// Appends a sender's message to a mailbox's queue, as `append(_:to:)` does.
    ///
    /// In a full queue, a message replaces the oldest one. It is refused if the oldest one still waits for the owner, is another
    /// admitted sender's, and this sender would exceed its share.
    ///
    /// - Parameter sender: the ID of the sender, which the event begins with.
    /// - Returns: false if the queue is full for this sender.
    func post(_ event: ReplayEvent, from sender: String, to stream: String) async throws -> Bool
    /// Registers a mailbox as one of the user's, or renews its registration. Counts the user's mailboxes in the same atomic step.
    ///
    /// A mailbox that wasn't enrolled for `MailboxBounds.idle` loses its registration. A full store removes such mailboxes,
    /// or one of the same user, and never another user's.
    ///
    /// - Returns: false if the user has `max` mailboxes, or the store is full.
    func enrol(_ mailbox: String, of user: String, max: Int) async throws -> Bool
    /// Removes a mailbox and its registration. Reports to all processes that its value `removed` has changed.
    func remove(_ mailbox: String, of user: String) async throws
    /// Sets a named value of a mailbox.
    ///
    /// - Returns: false if the mailbox, or the sender's share of it, is full: `MailboxBounds`. Nothing has changed then.
    func set(_ value: [UInt8], _ name: String, of stream: String) async throws -> Bool
    /// Returns named values of a mailbox.
    ///
    /// - Parameter names: the names to look up; nil for all.
    /// - Returns: the values that exist.
    func values(_ names: [String]?, of stream: String) async throws -> [String: [UInt8]]
    /// Sends bytes to every process without keeping them.
    func pass(_ bytes: [UInt8], to stream: String) async throws
    /// Returns changes of all mailboxes other than events. Each call returns a separate `AsyncStream`. A change may be
    /// dropped.
    func words() -> AsyncStream<MailboxWord>
    /// Returns changes of the mailboxes that this process serves, and perhaps of others. By default, returns `words()`.
    ///
    /// The rules of `notices(of:)` apply. If changes may be missing, the store delivers `MailboxWord.missed`.
    func words(of streams: ServedStreams) -> AsyncStream<MailboxWord>
}

extension MailboxStore {
    public func words(of streams: ServedStreams) -> AsyncStream<MailboxWord> { words() }
}

/// A change of a mailbox other than an event.
public enum MailboxWord: Hashable, Sendable {
    /// A value of that name was set.
    case changed(name: String, stream: String)
    /// Bytes were passed, and are not kept.
    case passed([UInt8], stream: String)
    /// Changes of the mailbox may be missing.
    case missed(stream: String)

    /// The stream of the mailbox.
    public var stream: String {
        switch self {
        case .changed(_, let stream), .passed(_, let stream), .missed(let stream): stream
        }
    }
}

/// The bounds of a mailbox.
public enum MailboxBounds {
    /// Maximum number of values of one mailbox.
    public static let valuesMax = 512
    /// Maximum number of bytes of all values of one mailbox: 2 MiB.
    public static let bytesMax = 2 << 20
    /// Maximum number of values of one sender in a mailbox.
    public static let senderValuesMax = 128
    /// Maximum number of bytes of all values of one sender in a mailbox: 512 KiB.
    public static let senderBytesMax = 512 << 10
    /// The number of shares in a full queue. A sender's share is a quarter of the messages and of the bytes.
    package static let queueShares = 4
    /// The time after which a mailbox that wasn't opened loses its registration: 30 days.
    public static let idle = Duration.seconds(30 * 86_400)

    /// The bounds of a mailbox's queue: a thousand messages, four megabytes, one week.
    public static let queue = ReplayLimits(count: 1000, bytes: 4 << 20, age: .seconds(7 * 86_400))
}
