import MeshBase

// Terms. A connection lasts from `open` to its end. It has a number; late results for an earlier number are ignored.
// The floor of a session is the sequence up to which all events have been received. The cursor is the position at which
// the next resume begins: the floor, or the sequence up to which the app has acknowledged events. A replay goes from
// the cursor to the ceiling, the newest sequence when the server resumed the session. Events above the ceiling are
// live, whenever they arrive. Docs/Internals/ResumeProtocol.md has the frames and rules.

/// The coordinator's state machine. Input from the app, the server and the store goes in, with the current time;
/// directives come out. It has no clock, does no I/O, and draws random numbers only from its seed.
package struct ResumeCore: Sendable {
    static let sessionIDBytesMax = 1024

    package struct Settings: Sendable {
        var configuration = SessionCoordinator.Configuration()
        var properties: ClientProperties
        /// Maximum time that a move of the cursor waits, so that one write saves it together with later moves.
        var writeDelay: Duration

        package init(
            configuration: SessionCoordinator.Configuration = .init(), properties: ClientProperties,
            writeDelay: Duration
        ) {
            self.configuration = configuration
            self.properties = properties
            self.writeDelay = writeDelay
        }
    }

    let settings: Settings
    var random: SplitMix64
    package private(set) var state = SessionState.disconnected
    var session: ResumeSession?
    /// The current connection; nil if there is none.
    var connection: ResumeConnection?
    var connectionCount: UInt64 = 0
    var heartbeatInterval: Duration
    /// True if the stored session must be ignored: the server refused it, or the user has logged out.
    var ignoresStoredSession = false
    var freshStart = FreshStart.noSession
    var writeDue: Duration?
    /// The session that the store holds, as far as this client knows; `.some(nil)` if the store is empty. nil if
    /// nothing was read or written yet, or if the last write failed.
    var written: SessionSnapshot??
    /// The number of writes in progress.
    var writesUnderWay = 0
    var writeBackoff = Backoff(from: .seconds(1), to: .seconds(60))
    private var directives: [ResumeDirective] = []

    package init(_ settings: Settings, seed: UInt64) {
        self.settings = settings
        random = SplitMix64(seed: seed)
        heartbeatInterval = .bounded(settings.configuration.defaultHeartbeatInterval)
    }

    package mutating func takeDirectives() -> [ResumeDirective] {
        defer { directives = [] }
        return directives
    }

    mutating func direct(_ directive: ResumeDirective) { directives.append(directive) }
    mutating func publish(_ event: SessionEvent) { direct(.publish(event)) }

    mutating func enter(_ next: SessionState) {
        guard next != state else { return }
        state = next
        publish(.stateChanged(next))
    }

    var isContiguous: Bool { settings.configuration.sequencing == .contiguous }
    var isAcknowledgedByApp: Bool {
        settings.configuration.acknowledgement == .byApp
    }
}

/// A session of the server, as known to this client.
struct ResumeSession: Hashable, Sendable {
    let id: String
    var received: ReceivedSequences
    /// The cursor; at most the floor.
    var acknowledged: UInt64

    init(id: String, floor: UInt64) {
        self.id = id
        received = ReceivedSequences(floor: floor)
        acknowledged = floor
    }
}

/// A connection, from `open` on.
struct ResumeConnection: Sendable {
    enum Phase: Sendable {
        case loading
        case awaitingToken
        case identifying
        /// The handshake asked for the events after the cursor. `floor` is the floor at that time.
        case resuming(floor: UInt64)
        case replaying(ResumeReplay)
        case live
    }

    let number: UInt64
    var phase = Phase.loading
    /// Events that arrived before READY.
    var early = ReceivedSequences()
    /// Events that arrived before RESUMED: their number, and the last one.
    var replayedEarly = (count: 0, last: UInt64(0))
    /// The ceiling of this connection's replay.
    var ceiling: UInt64 = 0
    var unacknowledgedBeats = 0
    var heartbeatDue: Duration?
    var handshakeDue: Duration?
    /// True once the gap was reported. It is reported once per connection, and so is a failed heartbeat.
    var hasReportedGap = false
    var hasReportedHeartbeatFailure = false

    init(number: UInt64) { self.number = number }

    var awaitsToken: Bool {
        if case .awaitingToken = phase { true } else { false }
    }
}

/// A replay in progress.
struct ResumeReplay: Hashable, Sendable {
    let expected: Int
    let ceiling: UInt64
    /// The number of different sequence numbers that were received.
    var received: Int
    var last: UInt64
    var due: Duration
}
