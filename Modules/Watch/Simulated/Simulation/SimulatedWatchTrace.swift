import MeshBase

/// An entry of a simulated pair's trace. Runs with the same seed give the same entries.
public struct SimulatedWatchTraceEntry: Hashable, Sendable, CustomStringConvertible {
    /// A transport mechanism of Apple's framework.
    public enum Lane: String, Hashable, Sendable {
        /// `sendMessage` and `sendMessageData`, their replies, `transferUserInfo`, `transferFile`,
        /// `updateApplicationContext`.
        case message, reply, userInfo, file, context
    }

    /// An event on a simulated device.
    public enum Event: Hashable, Sendable {
        /// The state of the app changed.
        case state(SimulatedAppState)
        /// The app died while its delegate was being called.
        case crashed
        /// An activation has succeeded or failed.
        case activation(WCSessionActivationState, error: WCError.Code?)
        /// The value of `isReachable` changed to this one.
        case reachability(Bool)
        /// The app handed content to the system. IDs number such content across all lanes and devices.
        case sent(Lane, id: UInt64, byteCount: Int)
        /// The system refused content of an app.
        case refused(Lane, WCError.Code)
        /// A context equals the one sent last, or the one that the counterpart has.
        case identicalContext
        /// Content has reached the other device. Its app receives it when it can.
        case arrived(Lane, id: UInt64)
        /// An app has received content.
        case delivered(Lane, id: UInt64)
        /// Content is lost for good. No app was informed.
        case lost(Lane, id: UInt64)
        /// The sender was informed that its message or transfer ended.
        case finished(Lane, id: UInt64, error: WCError.Code?)
        /// The sender cancelled a transfer.
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

/// The counts since the pair's start.
public struct SimulatedWatchStatistics: Hashable, Sendable {
    /// The number of messages received by delegates.
    public var messagesDelivered = 0
    /// The number of replies received by handlers.
    public var repliesDelivered = 0
    /// The number of user infos received by delegates.
    public var userInfosDelivered = 0
    /// The number of files received by delegates.
    public var filesDelivered = 0
    /// The number of contexts received by delegates.
    public var contextsDelivered = 0
    /// The number of times that an app died while it received a user info or a file. At most this many are delivered
    /// twice.
    public var crashesWhileDelivering = 0
    /// The number of times that the system launched or resumed an app.
    public var wakes = 0
    /// The number of complication transfers that the daily budget paid for.
    public var complicationTransfers = 0
    /// The total time for which `updateApplicationContext` would have blocked its callers.
    public var contextBlocking = Duration.zero
    /// The number of times that `updateApplicationContext` would have blocked the main thread.
    public var mainThreadBlocks = 0

    /// Creates counters that are all zero.
    public init() {}
}

/// The newest entries, up to a limit. Recording is amortized O(1).
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
