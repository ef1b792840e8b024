import MeshEngine
import MeshFoundation
import MeshIdentity

extension FuzzTarget {
    /// A target for an engine that receives a hostile peer's messages. The first byte chooses the engine's state. The
    /// rest are the liar's choices, with taps, ticks and relaunches between them.
    ///
    /// The engine must not trap. It must accept its user's taps, encode them so that others accept them, read its own
    /// image, and bound what it holds and sends. A peer that it doesn't know must change nothing.
    static var engine: FuzzTarget {
        FuzzTarget("engine") { input in
            guard let first = input.first else { return }
            var attack = try EngineAttack(Standing(rawValue: first % 4) ?? .alone, InputChoices(input.dropFirst()))
            try attack.run()
        }
    }

    enum Standing: UInt8 {
        /// Knows no peer; the liar is the first one.
        case alone
        /// Has founded a group with the liar.
        case sealed
        /// Was paired with the liar and a third peer.
        case paired
        /// Was paired with a third peer; the liar is unknown.
        case unknownPeer
    }
}

private struct InputChoices: ForgeryChoices {
    private var rest: Slice<UnsafeRawBufferPointer>

    init(_ rest: Slice<UnsafeRawBufferPointer>) { self.rest = rest }

    var isEmpty: Bool { rest.isEmpty }

    mutating func below(_ limit: Int) -> Int { Int(rest.popFirst() ?? 0) % limit }
    mutating func word() -> UInt64 { (0..<8).reduce(0) { word, _ in word << 8 | UInt64(rest.popFirst() ?? 0) } }
}

private struct ListReducer: SessionSyncReducer {
    func reduce(state: inout [UInt8], event: UInt8, context: SessionEventContext) { state.append(event) }
}

private struct EngineAttack {
    typealias Engine = SessionSyncEngine<[UInt8], UInt8, ListReducer, AcceptingConflictPolicy<[UInt8], UInt8>>

    static let own = SessionSource(peerID: "bert", incarnation: 2)
    static let liar = SessionSource(peerID: "anna", incarnation: 1)
    static let third = SessionSource(peerID: "cleo", incarnation: 3)
    private static let roundsMax = 32
    /// Maximum number of sources: the engine's own, its group's, and incarnations that the liar claims or invents.
    private static let sourcesMax = 192

    private let standing: FuzzTarget.Standing
    private var choices: InputChoices
    private var engine: Engine
    private var moment = Date(timeIntervalSince1970: 1_767_225_600)
    private var tokens: [LivenessToken] = []
    private var taps = 0

    init(_ standing: FuzzTarget.Standing, _ choices: InputChoices) throws {
        self.standing = standing
        self.choices = choices
        engine = Self.engine(Self.own, standing.members)
        if standing == .sealed { try seal() }
    }

    private static func engine(_ source: SessionSource, _ members: [SessionSource]) -> Engine {
        Engine(
            sessionID: UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)), featureID: "list",
            localPeerID: source.peerID, payloadType: "event", snapshotPayloadType: "state", initialState: [],
            reducer: ListReducer(), conflictPolicy: AcceptingConflictPolicy(), incarnation: source.incarnation, seed: 1,
            members: members)
    }

    /// Founds a group with an honest engine in the liar's place.
    private mutating func seal() throws {
        var other = Self.engine(Self.liar, [])
        for _ in 0..<4 {
            engine.tick(at: moment)
            other.tick(at: moment)
            for message in other.takeDirectives().outgoing { try? engine.deliver(message, at: moment) }
            for message in engine.takeDirectives().outgoing { try? other.deliver(message, at: moment) }
        }
        try FuzzTarget.require(engine.isSealed, "two engines must found a group")
    }

    mutating func run() throws {
        var rounds = 0
        while !choices.isEmpty, rounds < Self.roundsMax {
            rounds += 1
            switch choices.below(8) {
            case 0: try tap()
            case 1:
                moment += 1
                engine.suspect(happens() ? [Self.third.peerID] : [])
                if standing != .unknownPeer, happens() { engine.invite(Self.liar.peerID) }
                engine.tick(at: moment)
                try settle()
            case 2: try relaunch()
            default: try receiveForgery()
            }
        }
        try tap()
        try settle()
    }

    // MARK: - Steps

    private mutating func receiveForgery() throws {
        let before = engine.held
        let own = engine.source
        var forger = EngineForger(choices, liar: Self.liar, moment: moment)
        forger.others = [Self.third]
        forger.includesViews = true
        forger.tokens = tokens
        let message = forger.forgedMessage(to: engine, event: 7)
        choices = forger.choices
        switch message {
        case .event(let envelope): _ = try? engine.receive(envelope)
        case .control(let envelope): try? engine.receiveControl(envelope, at: moment)
        case .checkpoint(let checkpoint, let metadata): _ = try? engine.adopt(checkpoint, from: metadata, at: moment)
        case .relay(let envelope): try? engine.receiveRelay(envelope, at: moment)
        case .snapshot(let snapshot):
            if (try? engine.applySnapshot(snapshot)) != nil { _ = engine.allocateOutgoingSnapshotRevision() }
        }
        try settle()
        guard standing == .unknownPeer else { return }
        try FuzzTarget.require(engine.held == before && engine.source == own, "an unknown peer changes nothing")
        try FuzzTarget.require(engine.outline.sourceCount <= 10, "an unknown peer isn't remembered")
    }

    private mutating func happens() -> Bool { choices.below(8) == 0 }

    private mutating func tap() throws {
        guard taps < 4_000 else { return }
        taps += 1
        guard let envelope = try? engine.submitLocal(UInt8(truncatingIfNeeded: taps), at: moment) else {
            return try FuzzTarget.require(false, "a user's tap is accepted")
        }
        var newcomer = Self.engine(SessionSource(peerID: "newcomer", incarnation: 9), [])
        let result = try? newcomer.receive(envelope)
        try FuzzTarget.require(result != nil, "other engines accept an encoded tap")
        for case .unusableStamp in newcomer.takeDirectives().alarms {
            try FuzzTarget.require(false, "other engines accept a tap's stamp")
        }
    }

    private mutating func relaunch() throws {
        do {
            engine = try Engine(
                restoring: engine.image, reducer: ListReducer(), conflictPolicy: AcceptingConflictPolicy(), seed: 2)
        } catch {
            try FuzzTarget.require(false, "an engine reads its own image: \(error)")
        }
    }

    private mutating func settle() throws {
        let directives = engine.takeDirectives()
        for outgoing in directives.outgoing { try check(outgoing) }
        try FuzzTarget.require(
            engine.gapCount <= 256 * engine.outline.sourceCount, "the number of waiting events is bounded")
        try FuzzTarget.require(engine.outline.sourceCount <= Self.sourcesMax, "the number of kept sources is bounded")
        let membership = engine.membership
        let (open, closed) = (membership.open.map(\.source), membership.closed.map(\.source))
        try FuzzTarget.require(open.count <= SessionMembership.openMax, "the number of a group's members is bounded")
        try FuzzTarget.require(Set(open.map(\.peerID)).count == open.count, "a peer is a member once")
        try FuzzTarget.require(Set(open).isDisjoint(with: closed), "an open member isn't also closed")
        try checkStored()
        for alarm in directives.alarms {
            guard case .forked(let place) = alarm, place.source == engine.source else { continue }
            try FuzzTarget.require(standing != .unknownPeer, "an unknown peer makes no engine change its incarnation")
            guard let reborn = try? engine.reincarnated(as: UInt32(100 + taps), seed: 3) else {
                return try FuzzTarget.require(false, "a forked engine can change its incarnation")
            }
            engine = reborn
            _ = engine.takeDirectives()
        }
    }

    /// Checks that a store would have all events of each source once and without a gap. They start after the base or at
    /// the source's first sequence.
    private func checkStored() throws {
        let image = engine.image
        for entry in image.head.held.entries {
            let first = image.head.membership.first.first { $0.source == entry.source }?.sequence ?? 1
            let folded = image.base.vector[entry.source]
            let sequences = image.log.filter { $0.source == entry.source }.map(\.sequence).sorted()
            let done = max(folded, first - 1)
            let needed = sequences.filter { $0 > done }
            try FuzzTarget.require(
                sequences.allSatisfy { $0 > folded } && zip(sequences, sequences.dropFirst()).allSatisfy(<),
                "each event of a source is held once, above the base")
            try FuzzTarget.require(
                entry.sequence == done + UInt64(needed.count), "no held event is missing")
        }
    }

    private mutating func check(_ outgoing: SessionOutgoing<[UInt8], UInt8>) throws {
        switch outgoing {
        case .control(let envelope, _):
            tokens = envelope.payload.asks
            let control = envelope.payload
            let lists = [
                control.members.count, control.held.entries.count, control.asks.count, control.echoes.count,
                control.wants.count, control.clockEchoes.count, control.forked.count, control.replacements.count,
            ]
            try FuzzTarget.require(lists.allSatisfy { $0 <= Self.sourcesMax }, "a control's lists are bounded")
        case .events(_, let peerID):
            try FuzzTarget.require(
                standing != .unknownPeer || peerID != Self.liar.peerID, "an unknown peer gets no events")
        case .relay(_, let peerID):
            try FuzzTarget.require(
                standing != .unknownPeer || peerID != Self.liar.peerID, "an unknown peer gets no relay")
        case .checkpoint(_, _, let peerID):
            try FuzzTarget.require(
                standing != .unknownPeer || peerID != Self.liar.peerID, "an unknown peer gets no copy")
        }
    }
}

extension FuzzTarget.Standing {
    fileprivate var members: [SessionSource] {
        switch self {
        case .alone, .sealed: []
        case .paired: [EngineAttack.own, EngineAttack.liar, EngineAttack.third]
        case .unknownPeer: [EngineAttack.own, EngineAttack.third]
        }
    }
}

extension SessionSyncEngine {
    fileprivate mutating func deliver(_ message: SessionOutgoing<State, Event>, at moment: Date) throws {
        switch message {
        case .control(let envelope, _): try receiveControl(envelope, at: moment)
        case .events(let envelopes, _): for envelope in envelopes { _ = try receive(envelope) }
        case .relay(let envelope, _): try receiveRelay(envelope, at: moment)
        case .checkpoint(let checkpoint, let metadata, _): try adopt(checkpoint, from: metadata, at: moment)
        }
    }
}
