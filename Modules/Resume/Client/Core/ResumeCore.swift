import MeshBase

/// The coordinator as a value: what the app, the server and the store say goes in, each with a time; what is to be told,
/// sent and written comes out. No I/O, no clock, no randomness of its own.
///
/// - A *connection* lasts from `open` to its end, whoever ends it. It has a number, which what returns late is compared
///   with; a number that is over changes nothing.
/// - The *floor* of a session is the sequence up to which everything has come. The *cursor* is where the next resume
///   begins: the floor, or what the app has acknowledged of it.
/// - A *replay* goes from the cursor to the *ceiling*, the newest sequence when the server took up the session. What is
///   above the ceiling is live, whenever it comes.
package struct ResumeCore: Sendable {
    static let sessionIDBytesMax = 1024

    package struct Settings: Sendable {
        var configuration = SessionCoordinator.Configuration()
        var properties: ClientProperties
        /// How long a cursor that has moved may wait to be written with the next moves.
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
    /// nil while there is none.
    var connection: ResumeConnection?
    var connectionCount: UInt64 = 0
    var heartbeatInterval: Duration
    /// What is stored does not count any more: it was refused, or its user has gone.
    var storedIsVoid = false
    var freshStart = FreshStart.noSession
    var writeDue: Duration?
    /// What the last write was to leave behind; nil when nothing was written or it failed.
    var written: SessionSnapshot??
    /// Writes that were asked for and have not returned.
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
    mutating func tell(_ event: SessionEvent) { direct(.publish(event)) }

    mutating func enter(_ next: SessionState) {
        guard next != state else { return }
        state = next
        tell(.stateChanged(next))
    }

    var isContiguous: Bool { settings.configuration.sequencing == .contiguous }
    var isAcknowledgedByApp: Bool {
        settings.configuration.acknowledgement == .byApp
    }
}

/// A session of the server's as this client knows it.
struct ResumeSession: Hashable, Sendable {
    let id: String
    var received: ReceivedSequences
    /// At most the floor.
    var acknowledged: UInt64

    init(id: String, floor: UInt64) {
        self.id = id
        received = ReceivedSequences(floor: floor)
        acknowledged = floor
    }
}

/// One connection, from `open` on.
struct ResumeConnection: Sendable {
    enum Phase: Sendable {
        case loading
        case awaitingToken
        case identifying
        /// The handshake asked for what comes after the cursor; the floor was there then.
        case resuming(floor: UInt64)
        case replaying(ResumeReplay)
        case live
    }

    let number: UInt64
    var phase = Phase.loading
    /// What came before Ready.
    var early = ReceivedSequences()
    /// What came before Resumed: how many, and the last.
    var replayedEarly = (count: 0, last: UInt64(0))
    /// Of this connection's replay.
    var ceiling: UInt64 = 0
    var unacknowledgedBeats = 0
    var heartbeatDue: Duration?
    var handshakeDue: Duration?
    /// What is told once for a connection.
    var hasToldGap = false
    var hasToldHeartbeat = false

    init(number: UInt64) { self.number = number }

    var awaitsToken: Bool {
        if case .awaitingToken = phase { true } else { false }
    }
}

/// A replay under way.
struct ResumeReplay: Hashable, Sendable {
    let expected: Int
    let ceiling: UInt64
    /// Different sequences.
    var received: Int
    var last: UInt64
    var due: Duration
}
