import MeshBase
import MeshEngine
import MeshFoundation
import MeshIdentity

/// A run of one peer that keeps its store, the survivor, and one that keeps nothing. Each incarnation of the second
/// peer joins the survivor's group, exchanges events with it and ends.
///
/// There are more incarnations than a table of sources has places. The survivor's messages and tables must not grow.
struct ManyIncarnations<Feature: SimulatedFeature> {
    private typealias Engine = SessionSyncEngine<Feature.State, Feature.Event, Feature.Reducer, Feature.Policy>

    private let options: SimulationOptions
    private(set) var outcome: WorldOutcome
    private var random: SplitMix64
    /// The survivor, and the other peer's present incarnation.
    private var engines: [Engine]
    private var now = 0
    private var number: UInt32 = 0

    static var incarnationsMax: Int { 1_200 }
    /// The maximum number of entries in all lists of one control.
    private static var entriesMax: Int { 96 }
    private static var sourcesMax: Int { 136 }

    init(_ schedule: Schedule, _ options: SimulationOptions) {
        self.options = options
        outcome = WorldOutcome(seed: schedule.seed)
        var random = SplitMix64(seed: schedule.seed ^ 0x11FE)
        // Either peer may be the founder.
        let survives = random.below(2)
        engines = [survives, 1 - survives].map { Self.engine($0, &random) }
        self.random = random
    }

    private static func engine(_ peer: Int, _ random: inout SplitMix64) -> Engine {
        var options = SessionEngineOptions<Feature.State, Feature.Event>()
        options.samplesReducer = false
        return Engine(
            sessionID: Replica<Feature>.sessionID, featureID: Feature.id, localPeerID: Schedule.name(of: peer),
            payloadType: "event", snapshotPayloadType: "state", initialState: Feature.initialState,
            reducer: Feature.reducer, conflictPolicy: Feature.policy,
            incarnation: UInt32(truncatingIfNeeded: random.next()), seed: random.next(), options: options)
    }

    mutating func run() {
        do throws(Violation) {
            for index in 0..<Self.incarnationsMax { try runIncarnation(index) }
        } catch {
            outcome.failure = "at \(now) ms: \(error.reason)"
        }
        outcome.simulatedMilliseconds = now
    }

    private mutating func runIncarnation(_ index: Int) throws(Violation) {
        if index > 0 {
            outcome.faults[.lostStore] += 1
            let peer = engines[1].localPeerID == Schedule.name(of: 0) ? 0 : 1
            engines[1] = Self.engine(peer, &random)
        }
        // Some incarnations end before the survivor has noticed them, or while it admits them.
        let isShort = random.happens(rate: 0.3)
        for author in engines.indices { try tap(author) }
        for _ in 0..<(isShort ? random.below(3) : 8) { try exchange() }
        if isShort { return }
        let (survivor, other) = (engines[0], engines[1])
        guard other.isSealed, survivor.isSealed, other.group == survivor.group else {
            throw Violation("incarnation \(index) hasn't joined")
        }
        guard other.state == survivor.state, other.confirmedCount == survivor.confirmedCount,
            survivor.ownUnconfirmedCount == 0, other.ownUnconfirmedCount == 0
        else { throw Violation("incarnation \(index) and the survivor differ") }
        outcome.confirmed = Int(survivor.confirmedCount)
        guard survivor.outline.sourceCount <= Self.sourcesMax else {
            throw Violation("after \(index + 1) incarnations, \(survivor.outline.sourceCount) sources are kept")
        }
    }

    private var moment: Date { Date(timeIntervalSince1970: 1_767_225_600 + Double(now) / 1_000) }

    private mutating func tap(_ author: Int) throws(Violation) {
        number += 1
        now += 1
        outcome.operations += 1
        let event = Feature.event(number: number, choice: random.next(), moment: moment)
        guard let envelope = try? engines[author].submitLocal(event, at: moment) else { return }
        do {
            _ = try engines[1 - author].receive(envelope)
        } catch {
            throw Violation("\(engines[1 - author].localPeerID) rejects an event: \(error)")
        }
    }

    /// Ticks both peers and delivers everything that follows.
    private mutating func exchange() throws(Violation) {
        now += 250
        for index in engines.indices { engines[index].tick(at: moment) }
        for _ in 0..<8 {
            let outgoing = engines.indices.map { engines[$0].takeDirectives().outgoing }
            if outgoing.allSatisfy(\.isEmpty) { return }
            for sender in engines.indices {
                for message in outgoing[sender] { try deliver(message, to: 1 - sender) }
            }
        }
    }

    private mutating func deliver(
        _ message: SessionOutgoing<Feature.State, Feature.Event>, to receiver: Int
    ) throws(Violation) {
        outcome.frames += 1
        do {
            switch message {
            case .control(let envelope, _):
                let size = envelope.payload.entryCount
                guard size <= Self.entriesMax else { throw Violation("a control has \(size) entries") }
                try engines[receiver].receiveControl(envelope, at: moment)
            case .events(let envelopes, _): for envelope in envelopes { _ = try engines[receiver].receive(envelope) }
            case .relay(let envelope, _): try engines[receiver].receiveRelay(envelope, at: moment)
            case .checkpoint(let checkpoint, let metadata, _):
                if try engines[receiver].adopt(checkpoint, from: metadata, at: moment) { outcome.snapshots += 1 }
            }
        } catch let violation as Violation {
            throw violation
        } catch {
            throw Violation("\(engines[receiver].localPeerID) rejects a message: \(error)")
        }
    }
}

extension SessionControl {
    /// The number of entries in all its lists.
    var entryCount: Int {
        let lists = [
            members.count, held.entries.count, asks.count, echoes.count, wants.count, replacements.count,
            clockEchoes.count, forked.count,
        ]
        return lists.reduce(0, +)
    }
}
