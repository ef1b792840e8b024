/// What gateways keep of devices' mailboxes: of each a queue, which is a stream of the buffer, and beside it a few values by
/// name. Shared by all processes; `ReplayBufferRules` examine its streams.
///
/// To the implementer:
/// - A value that was set is in every later answer of every process, until the stream is dropped as a whole.
/// - Every change, and every word that is passed, is told to every process, whichever caused it.
/// - Every throw is a `ReplayBufferError`.
public protocol MailboxStore: ReplayBuffer {
    /// - Returns: false where the stream has no room: `MailboxBounds`. Nothing has changed then.
    func set(_ value: [UInt8], _ name: String, of stream: String) async throws -> Bool
    /// - Parameter names: nil for all.
    /// - Returns: those that there are.
    func values(_ names: [String]?, of stream: String) async throws -> [String: [UInt8]]
    /// Tells every process, and keeps nothing.
    func pass(_ bytes: [UInt8], to stream: String) async throws
    /// What happens to all streams beside their events. A stream of its own for each call; a word may be dropped.
    func words() -> AsyncStream<MailboxWord>
}

/// What happens to a stream beside its events.
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

/// What a mailbox may hold beside its queue.
public enum MailboxBounds {
    /// Values of one stream.
    public static let valuesMax = 512
    /// Bytes of all values of one stream: 2 MiB.
    public static let bytesMax = 2 << 20

    /// Of queues: a week, a thousand messages, four megabytes.
    public static let queue = ReplayLimits(count: 1000, bytes: 4 << 20, age: .seconds(7 * 86_400))
}
