import Foundation
import MeshIdentity

@testable import MeshEngine

/// Any number of engines, the connections between them, and their apps. An app suspects each engine that it can't hear, and
/// continues under a new incarnation when its own engine reports a fork.
struct EngineGroup {
    var engines: [String: ListEngine] = [:]
    /// The events that each engine has confirmed, in order.
    var confirmed: [String: [String]] = [:]
    var alarms: [String: [SessionAlarm]] = [:]
    /// Pairs of engines that don't hear each other.
    private var cuts: Set<Set<String>> = []
    private var gone: Set<String> = []
    /// Routes on which messages are delayed.
    private var slow: Set<Route> = []
    /// The delayed messages, oldest first.
    private var waiting: [(route: Route, message: SessionOutgoing<[String], String>)] = []
    private var incarnations: UInt32 = 100
    var now = noon
    /// True if all engines belong to devices of one user.
    var isOwn = false

    init(isOwn: Bool = false) { self.isOwn = isOwn }

    /// Creates members of one group.
    init(paired names: [String], isOwn: Bool = false) {
        self.isOwn = isOwn
        let members = names.enumerated().map { SessionSource(peerID: $1, incarnation: UInt32($0 + 1)) }
        for member in members {
            engines[member.peerID] = ListEngine(
                sessionID: session, featureID: "list", localPeerID: member.peerID, payloadType: "list.event",
                snapshotPayloadType: "list.state", initialState: [], reducer: ListReducer(),
                conflictPolicy: NoRepeatPolicy(), seed: UInt64(member.incarnation), members: members,
                options: Self.options)
        }
    }

    /// A round is a second, and one step.
    private static var options: SessionEngineOptions<[String], String> {
        var options = SessionEngineOptions<[String], String>()
        options.stepMilliseconds = options.exchangeMilliseconds
        return options
    }

    subscript(name: String) -> ListEngine {
        get { engines[name] ?? makeEngine(name) }
        set { engines[name] = newValue }
    }

    var names: [String] { engines.keys.sorted() }
    var present: [String] { names.filter { !gone.contains($0) } }
    var states: Set<[String]> { Set(present.map { self[$0].state }) }
    var views: Set<UInt64> { Set(present.map { self[$0].view }) }

    func members(of name: String) -> [String] { self[name].membership.open.map(\.source.peerID) }

    // MARK: - Actions

    mutating func add(_ name: String, founds: Bool = true) {
        incarnations += 1
        var options = Self.options
        options.founds = founds
        self[name] = ListEngine(
            sessionID: session, featureID: "list", localPeerID: name, payloadType: "list.event",
            snapshotPayloadType: "list.state", initialState: [], reducer: ListReducer(),
            conflictPolicy: NoRepeatPolicy(), incarnation: incarnations, seed: UInt64(incarnations),
            options: options)
    }

    mutating func tap(_ name: String, _ event: String) throws {
        now += 0.01
        let envelope = try self[name].submitLocal(event, at: now)
        try carryOut(name)
        for other in names where hears(other, name) {
            if isHeld(.events([envelope], to: other), name, other) { continue }
            _ = try? self[other].receive(envelope)
        }
    }

    /// Disconnects an engine from all others, in both directions.
    mutating func cutOff(_ name: String) { gone.insert(name) }
    mutating func connect(_ name: String) { gone.remove(name) }
    mutating func cut(_ one: String, _ other: String) { cuts.insert([one, other]) }
    mutating func reconnect(_ one: String, _ other: String) { cuts.remove([one, other]) }
    mutating func mend() { (cuts, gone) = ([], []) }

    /// Delays messages from the sender to the receiver from now on.
    mutating func hold(_ sender: String, to receiver: String) {
        slow.insert(Route(sender: sender, receiver: receiver))
    }

    /// Delivers new messages at once again. Delayed messages stay delayed.
    mutating func deliverNow(_ sender: String, to receiver: String) {
        slow.remove(Route(sender: sender, receiver: receiver))
    }

    /// Delivers the delayed messages, even if the two no longer hear each other. Later messages arrive at once.
    mutating func release(_ sender: String, to receiver: String) throws {
        deliverNow(sender, to: receiver)
        let route = Route(sender: sender, receiver: receiver)
        let late = waiting.filter { $0.route == route }
        waiting.removeAll { $0.route == route }
        for (_, message) in late { try EnginePair.deliver(message, to: &self[receiver], at: now) }
    }

    /// Relaunches the process from its store. Everything has been persisted.
    mutating func relaunch(_ name: String) throws {
        self[name] = try ListEngine(
            restoring: self[name].image, reducer: ListReducer(), conflictPolicy: NoRepeatPolicy(), seed: 7,
            options: self[name].options)
    }

    /// Keeps the message if its route is delayed.
    private mutating func isHeld(
        _ message: SessionOutgoing<[String], String>, _ sender: String, _ receiver: String
    ) -> Bool {
        let route = Route(sender: sender, receiver: receiver)
        guard slow.contains(route) else { return false }
        waiting.append((route, message))
        return true
    }

    private func hears(_ one: String, _ other: String) -> Bool {
        one != other && !gone.contains(one) && !gone.contains(other) && !cuts.contains([one, other])
    }

    // MARK: - Rounds

    /// - Parameter suspects: true if apps suspect the engines that they can't hear.
    mutating func run(rounds: Int, suspects: Bool = true) throws {
        _ = try run(upTo: rounds, suspects: suspects) { _ in false }
    }

    /// Runs until the condition holds, and stops even in the middle of a round.
    /// - Returns: true if the condition holds.
    mutating func run(
        upTo rounds: Int, suspects: Bool = true, until holds: (EngineGroup) -> Bool
    ) throws -> Bool {
        for _ in 0..<rounds {
            for name in names {
                self[name].suspect(suspects ? Set(names.filter { $0 != name && !hears(name, $0) }) : [])
                self[name].tick(at: now)
            }
            for _ in 0..<8 {
                for name in names {
                    if holds(self) { return true }
                    try carryOut(name)
                }
            }
            now += 1
        }
        return holds(self)
    }

    /// Sends the peer's periodic control, and anything else it has to send.
    mutating func speak(_ name: String) throws {
        self[name].tick(at: now)
        try carryOut(name)
    }

    /// Sends the pending messages of each engine once.
    /// - Returns: true if any engine had messages to send.
    @discardableResult
    mutating func step() throws -> Bool {
        try names.reduce(false) { try carryOut($1) || $0 }
    }

    @discardableResult
    private mutating func carryOut(_ name: String) throws -> Bool {
        let directives = self[name].takeDirectives()
        confirmed[name, default: []] += directives.confirmed.map(\.envelope.payload)
        alarms[name, default: []] += directives.alarms
        for message in directives.outgoing {
            for other in names where hears(other, name) && message.isFor(other) {
                if isOwn { self[other].setPeer(name, isOwnDevice: true) }
                if isHeld(message, name, other) { continue }
                try EnginePair.deliver(message, to: &self[other], at: now)
            }
        }
        for alarm in directives.alarms {
            guard case .forked(let place) = alarm, place.source == self[name].source, !self[name].isLeaving
            else { continue }
            incarnations += 1
            self[name] = try self[name].reincarnated(as: incarnations, seed: UInt64(incarnations))
        }
        return !directives.outgoing.isEmpty
    }
}

/// The route from one peer to another.
private struct Route: Hashable {
    let sender: String
    let receiver: String
}

extension SessionOutgoing {
    fileprivate func isFor(_ peerID: String) -> Bool {
        switch self {
        case .control(_, let receiver): receiver == nil || receiver == peerID
        case .events(_, let receiver), .relay(_, let receiver), .checkpoint(_, _, let receiver): receiver == peerID
        }
    }
}
