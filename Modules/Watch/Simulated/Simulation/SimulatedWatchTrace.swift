import MeshBase

/// An entry of a simulated pair's trace. Two runs with one seed give the same entries.
public struct SimulatedWatchTraceEntry: Hashable, Sendable, CustomStringConvertible {
    /// A way of Apple's framework.
    public enum Lane: String, Hashable, Sendable {
        /// `sendMessage` and `sendMessageData`, their replies, `transferUserInfo`, `transferFile`,
        /// `updateApplicationContext`.
        case message, reply, userInfo, file, context
    }

    /// An event on a simulated device.
    public enum Event: Hashable, Sendable {
        /// The app is doing something else now.
        case state(SimulatedAppState)
        /// The app died while its delegate was being called.
        case crashed
        /// The session was activated, or not.
        case activation(WCSessionActivationState, error: WCError.Code?)
        /// The value of `isReachable` has changed to this one.
        case reachability(Bool)
        /// Handed to the system. Ids count what is handed to it, of all lanes and devices.
        case sent(Lane, id: UInt64, byteCount: Int)
        /// The system did not take it.
        case refused(Lane, WCError.Code)
        /// A context that is what was sent last, or what the counterpart has.
        case identicalContext
        /// At the other device; its app is told when it can be.
        case arrived(Lane, id: UInt64)
        /// The app was told.
        case delivered(Lane, id: UInt64)
        /// The message or transfer is lost, and no app was told.
        case lost(Lane, id: UInt64)
        /// The sender was told.
        case finished(Lane, id: UInt64, error: WCError.Code?)
        /// The sender has cancelled it.
        case cancelled(Lane, id: UInt64)
    }

    /// Virtual time since the start.
    public let time: Duration
    /// The name of the device on which the event happened.
    public let device: String
    /// The event that happened on the device.
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
    /// Messages that a delegate was given.
    public var messagesDelivered = 0
    /// Replies that a handler was given.
    public var repliesDelivered = 0
    /// User infos that a delegate was given.
    public var userInfosDelivered = 0
    /// Files that a delegate was given.
    public var filesDelivered = 0
    /// Contexts that a delegate was given.
    public var contextsDelivered = 0
    /// Deaths of an app while its delegate was being handed a user info or a file: as many are delivered twice at most.
    public var crashesWhileDelivering = 0
    /// Launches and resumptions by the system.
    public var wakes = 0
    /// The total time for which `updateApplicationContext` blocked its callers.
    public var contextBlocking = Duration.zero
    /// The number of times that `updateApplicationContext` blocked the main thread.
    public var mainThreadBlocks = 0

    /// Creates counters that are all zero.
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
