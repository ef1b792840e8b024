/// The store of devices' mailboxes: for each a queue, which is a stream of the buffer, and a few named values. All
/// processes share it; `ReplayBufferRules` check its streams.
///
/// To the implementer:
/// - A value that was set is in every later answer of every process, until the stream is dropped as a whole.
/// - Every change, and every word that is passed, is told to every process, whichever caused it.
/// - Every throw is a `ReplayBufferError`.
public protocol MailboxStore: ReplayBuffer {
    /// Sets a named value of a mailbox.
    ///
    /// - Returns: false where the stream has no room: `MailboxBounds`. Nothing has changed then.
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
}

/// A change of a mailbox other than an event.
public enum MailboxWord: Hashable, Sendable {
    /// A value of that name was set.
    case changed(name: String, stream: String)
    /// Bytes that were passed and are not kept.
    case passed([UInt8], stream: String)

    /// The stream that it happened to.
    public var stream: String {
        switch self {
        case .changed(_, let stream), .passed(_, let stream): stream
        }
    }
}

/// The bounds of a mailbox beside its queue.
public enum MailboxBounds {
    /// Values of one stream.
    public static let valuesMax = 512
    /// Bytes of all values of one stream: 2 MiB.
    public static let bytesMax = 2 << 20

    /// The bounds of a mailbox's queue: a thousand messages, four megabytes, one week.
    public static let queue = ReplayLimits(count: 1000, bytes: 4 << 20, age: .seconds(7 * 86_400))
}
