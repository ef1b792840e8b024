public import MeshBase

/// A store that numbers the events of every stream and keeps the newest ones. Implement it to use another store with
/// gateways, and check the implementation with `ReplayBufferRules`.
///
/// A stream belongs to a user, and exists from the first call that names it. Its events are numbered from 1 without a
/// gap, and the store never assigns a number of one epoch twice. Requirements:
/// - The store numbers and keeps an event in one atomic step: if two processes append at once, each gets its own number.
/// - After an append has returned, every later answer of every process includes the event, until limits trim it. An append that
///   throws may have happened.
/// - A store that can't continue a stream's numbers (because it is new or empty, or has lost events that it had already
///   returned) gives that stream an epoch that it never had.
/// - Every error is a `ReplayBufferError`.
public protocol ReplayBuffer: Sendable {
    /// Appends an event to a stream and returns its position.
    ///
    /// - Returns: the event's epoch and number.
    func append(_ event: ReplayEvent, to stream: String) async throws -> ReplayPosition
    /// Returns the range of events that the buffer holds of a stream. A stream exists from the first call that names
    /// it.
    func standing(of stream: String) async throws -> ReplayStanding
    /// Returns the events after a position, at most `limit` of them. The page is empty if there is nothing newer.
    func page(of stream: String, after position: ReplayPosition, limit: Int) async throws -> ReplayPage
    /// Returns notices of new events of all streams, from all processes. Each call returns a separate `AsyncStream`. A
    /// notice may be dropped, and is never early: when it arrives, the event can be read.
    func notices() -> AsyncStream<ReplayNotice>
    /// Returns the notices of the streams that this process serves, and perhaps of others. By default, returns
    /// `notices()`.
    ///
    /// A store may deliver the notices of served streams only. Once a call about a served stream has returned, the
    /// store must deliver a notice of each later append to it, or `ReplayNotice.missed`.
    func notices(of streams: ServedStreams) -> AsyncStream<ReplayNotice>
}

extension ReplayBuffer {
    public func notices(of streams: ServedStreams) -> AsyncStream<ReplayNotice> { notices() }
}

/// An app's event: the name of its type, and its payload in JSON.
public struct ReplayEvent: Hashable, Sendable {
    /// Maximum number of bytes of an event's payload: 64 KiB.
    public static let jsonBytesMax = 64 << 10

    /// The name of the event's type.
    public let type: String
    /// The event's payload in JSON.
    public let json: [UInt8]

    /// Creates an event from its type and its payload in JSON.
    ///
    /// - Parameters:
    ///   - type: 1 to 64 of A–Z, a–z, 0–9, `_`, `-` and `.`; neither READY nor RESUMED.
    ///   - json: at most `jsonBytesMax` bytes, in UTF-8.
    /// - Throws: `ReplayBufferError.Code.invalidEvent`, also if the payload isn't JSON.
    public init(type: String, json: [UInt8]) throws(ReplayBufferError) {
        guard Self.isName(type) else { throw ReplayBufferError(.invalidEvent, "'\(type)' isn't a valid event name") }
        guard json.count <= Self.jsonBytesMax else {
            throw ReplayBufferError(
                .invalidEvent, "\(json.count) bytes of '\(type)'; the limit is \(Self.jsonBytesMax)")
        }
        guard JSONScanner.isValue(json) else {
            throw ReplayBufferError(.invalidEvent, "the payload of '\(type)' can't be read as JSON in UTF-8")
        }
        self.type = type
        self.json = json
    }

    /// Creates an event that was read from a store to which only `append` writes. Checks the bounds, but doesn't parse
    /// the JSON again.
    package init?(stored type: String, json: [UInt8]) {
        guard Self.isName(type), json.count <= Self.jsonBytesMax else { return nil }
        self.type = type
        self.json = json
    }

    fileprivate init(uncheckedType type: String) { (self.type, json) = (type, []) }

    private static func isName(_ type: String) -> Bool {
        let isSpelled = type.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "."):
                true
            default: false
            }
        }
        return isSpelled && (1...64).contains(type.utf8.count) && type != "READY" && type != "RESUMED"
    }

    /// The number of bytes that count towards the limits of a buffer.
    public var byteCount: Int { type.utf8.count + json.count }
}

/// A position in a stream.
public struct ReplayPosition: Hashable, Sendable {
    /// The stream's epoch, which changes when the store can't continue its numbers.
    public var epoch: UInt64
    /// The number of an event in its epoch, from 1.
    public var sequence: UInt64

    /// Creates a position in a stream.
    public init(epoch: UInt64, sequence: UInt64) {
        self.epoch = epoch
        self.sequence = sequence
    }
}

/// An event and its number.
public struct ReplayEntry: Hashable, Sendable {
    /// The number of the event in its epoch, from 1.
    public var sequence: UInt64
    /// The event that was appended.
    public var event: ReplayEvent

    /// Creates an entry from an event and its number.
    public init(sequence: UInt64, event: ReplayEvent) {
        self.sequence = sequence
        self.event = event
    }
}

/// The range of a stream that a buffer holds.
public struct ReplayStanding: Hashable, Sendable {
    /// The stream's epoch, which changes when the store can't continue its numbers.
    public var epoch: UInt64
    /// The number of the oldest event that is held; `newest` + 1 if none is.
    public var oldest: UInt64
    /// The number of the newest event; 0 before the first one.
    public var newest: UInt64

    /// Creates the range of one stream, for implementers of a store.
    public init(epoch: UInt64, oldest: UInt64, newest: UInt64) {
        self.epoch = epoch
        self.oldest = oldest
        self.newest = newest
    }
}

/// The answer of a store to a reader that continues at a position.
public enum ReplayPage: Hashable, Sendable {
    /// The next events, in order. Empty if there is nothing newer.
    case entries([ReplayEntry], ReplayStanding)
    /// Some of the next events were trimmed.
    case gone(ReplayStanding)
    /// The position is of another epoch, or beyond the newest event.
    case foreign(ReplayStanding)
}

/// A report that a process has appended an event.
public struct ReplayNotice: Hashable, Sendable {
    /// The stream that the event was appended to.
    public var stream: String
    /// The epoch of the stream, which changes when its numbers start again.
    public var epoch: UInt64
    /// The event and its number.
    public var entry: ReplayEntry

    /// Returns a notice that reports that other notices of this stream may be lost. A gateway that gets it asks the
    /// buffer. Its epoch is 0, so a store that uses it must never give a stream the epoch 0.
    public static func missed(in stream: String) -> ReplayNotice {
        ReplayNotice(
            stream: stream, epoch: 0, entry: ReplayEntry(sequence: 0, event: ReplayEvent(uncheckedType: "MISSED")))
    }

    /// Creates a notice, for implementers of a ``ReplayBuffer``.
    public init(stream: String, epoch: UInt64, entry: ReplayEntry) {
        self.stream = stream
        self.epoch = epoch
        self.entry = entry
    }
}

/// The bounds of each stream of a buffer. Beyond any of them the oldest events are dropped. The newest event stays until it is
/// too old.
public struct ReplayLimits: Hashable, Sendable {
    /// Maximum number of events of a stream.
    public var count: Int
    /// Maximum number of bytes of a stream's events.
    public var bytes: Int
    /// Maximum age of an event.
    public var age: Duration
    /// Maximum number of streams. Beyond it the least recently used stream is dropped.
    public var streams: Int

    /// Creates limits: 1,000 events, 1 MiB and one hour per stream by default.
    public init(count: Int = 1000, bytes: Int = 1 << 20, age: Duration = .seconds(3600), streams: Int = 100_000) {
        self.count = max(1, count)
        self.bytes = max(0, bytes)
        self.age = age
        self.streams = max(1, streams)
    }
}

/// An error of a replay buffer or a mailbox store.
public struct ReplayBufferError: CodedError {
    /// The reason for the error. Later versions may add codes.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        public let description: String

        /// The event's name or payload is invalid.
        public static let invalidEvent = Code(description: "invalidEvent")
        /// The address of the store is invalid.
        public static let invalidAddress = Code(description: "invalidAddress")
        /// The store didn't answer. An append may have happened.
        public static let unavailable = Code(description: "unavailable")
        /// Another process has started with a different list of shards, so the store did nothing.
        public static let otherShards = Code(description: "otherShards")
        /// The store is overloaded, and did nothing.
        public static let busy = Code(description: "busy")
    }

    public let code: Code
    public let message: String
    public let cause: (any Error)?

    /// Creates an error of a ``ReplayBuffer``, for implementers.
    public init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        (self.code, self.message, self.cause) = (code, message, cause)
    }

    public var advice: String {
        switch code {
        case .invalidEvent: "Use a short name of printable characters and JSON within the limit."
        case .invalidAddress: ""
        case .otherShards: "Start this process again with the list of shards that the others have."
        case .busy: "Try again later, and less often."
        default: "Check that the store runs and can be reached, then try again. An append may have happened."
        }
    }
}
