import MeshBus

/// What happened in a simulated pair, in order; two runs of one seed give the same.
public struct SimulatedWatchTraceEntry: Hashable, Sendable, CustomStringConvertible {
    public enum Lane: String, Hashable, Sendable {
        case message, reply, userInfo, file, context
    }

    public enum Event: Hashable, Sendable {
        case state(SimulatedAppState)
        /// The app died while its delegate was being called.
        case crashed
        case activation(WCSessionActivationState, error: WCError.Code?)
        case reachability(Bool)
        /// Handed to the system. Ids count what is handed to it, of all lanes and devices.
        case sent(Lane, id: UInt64, byteCount: Int)
        case refused(Lane, WCError.Code)
        /// A context that is what was sent last, or what the counterpart has.
        case identicalContext
        /// At the other device; its app is told when it can be.
        case arrived(Lane, id: UInt64)
        /// The app was told.
        case delivered(Lane, id: UInt64)
        case lost(Lane, id: UInt64)
        /// The sender was told.
        case finished(Lane, id: UInt64, error: WCError.Code?)
        case cancelled(Lane, id: UInt64)
    }

    /// Virtual time since the start.
    public let time: Duration
    /// Of the device where it happened.
    public let device: String
    public let event: Event

    public var description: String { "\(time) \(device): \(text)" }

    private var text: String {
        switch event {
        case .state(let state): "app \(state)"
        case .crashed: "app crashed"
        case .activation(let state, let error): "session \(state)\(Self.suffix(error))"
        case .reachability(let isReachable): isReachable ? "reachable" : "not reachable"
        case .sent(let lane, let id, let byteCount): "\(lane) \(id) sent, \(byteCount) bytes"
        case .refused(let lane, let code): "\(lane) refused: \(code)"
        case .identicalContext: "context identical"
        case .arrived(let lane, let id): "\(lane) \(id) arrived"
        case .delivered(let lane, let id): "\(lane) \(id) delivered"
        case .lost(let lane, let id): "\(lane) \(id) lost"
        case .finished(let lane, let id, let error): "\(lane) \(id) finished\(Self.suffix(error))"
        case .cancelled(let lane, let id): "\(lane) \(id) cancelled"
        }
    }

    private static func suffix(_ error: WCError.Code?) -> String { error.map { ": \($0)" } ?? "" }
}

/// Counts since the pair's start.
public struct SimulatedWatchStatistics: Hashable, Sendable {
    public var messagesDelivered = 0
    public var repliesDelivered = 0
    public var userInfosDelivered = 0
    public var filesDelivered = 0
    public var contextsDelivered = 0
    /// Deaths of an app while its delegate was being handed a user info or a file: as many are delivered twice at most.
    public var crashesWhileDelivering = 0
    /// Launches and resumptions by the system.
    public var wakes = 0
    /// For how long `updateApplicationContext` blocked its callers altogether.
    public var contextBlocking = Duration.zero
    /// How often it blocked the main thread.
    public var mainThreadBlocks = 0

    public init() {}
}

/// The newest entries, up to a limit. Recording is O(1).
struct SimulatedWatchTrace {
    let limit: Int
    private var kept: [SimulatedWatchTraceEntry] = []

    init(limit: Int) { self.limit = max(limit, 0) }

    var entries: [SimulatedWatchTraceEntry] { kept.suffix(limit) }

    mutating func record(_ event: SimulatedWatchTraceEntry.Event, on device: String, at time: UInt64) {
        guard limit > 0 else { return }
        kept.append(SimulatedWatchTraceEntry(time: Duration(nanoseconds: time), device: device, event: event))
        if kept.count >= 2 * limit { kept.removeFirst(kept.count - limit) }
    }
}
