import Foundation
import MeshBase
import MeshIdentity
import Testing

@testable import MeshEngine

/// Generates ids and random numbers from the event's context, or, for "careless", in a way that reducers must not use.
private struct LapReducer: SessionSyncReducer {
    func reduce(state: inout [String], event: String, context: SessionEventContext) {
        switch event {
        case "lap": state.append("\(context.uuid()) \(context.uuid(1))")
        case "deal":
            var random = context.randomNumberGenerator
            state.append("\(random.shuffled(Array(1...8))) \(random.integer(in: -3...3)) \(random.fraction())")
        case "careless": state.append(UUID().uuidString)
        default: state.append(event)
        }
    }
}

/// Keeps a set. Its elements are listed in no defined order.
private struct SetReducer: SessionSyncReducer {
    func reduce(state: inout Set<String>, event: String, context: SessionEventContext) {
        if !state.insert(event).inserted { state.remove(event) }
    }
}

struct DeterminismTests {
    private typealias LapEngine = SessionSyncEngine<
        [String], String, LapReducer, AcceptingConflictPolicy<[String], String>
    >

    private func engine(_ peer: String, samples: Bool = true) -> LapEngine {
        var options = SessionEngineOptions<[String], String>()
        options.samplesReducer = samples
        return LapEngine(
            sessionID: session, featureID: "list", localPeerID: peer, payloadType: "list.event",
            snapshotPayloadType: "list.state", initialState: [], reducer: LapReducer(),
            conflictPolicy: AcceptingConflictPolicy(), incarnation: 1, options: options)
    }

    @Test(arguments: 0..<50 as Range<UInt64>)
    func `Ids and draws of the context are the same in whatever order events arrive`(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        var authors = [engine("a"), engine("b"), engine("c")]
        var envelopes: [SessionSyncEnvelope<String>] = []
        for number in 0..<12 {
            let author = Int(random.upTo(2))
            let event = ["lap", "deal"][number % 2]
            envelopes.append(try authors[author].submitLocal(event, at: noon.addingTimeInterval(Double(number))))
        }
        var states: [[String]] = []
        for _ in 0..<3 {
            var reader = engine("reader")
            for envelope in envelopes.shuffled(using: &random) { _ = try reader.receive(envelope) }
            // Each event that waited for an earlier one of its source arrived with that one.
            states.append(reader.state)
            #expect(reader.takeDirectives().alarms.isEmpty)
        }
        #expect(Set(states).count == 1)
        #expect(Set(states[0]).count == 12, "each event draws its own values")
    }

    @Test func `An id is of version 8, and what is drawn by an event never changes`() throws {
        let id = try #require(UUID(uuidString: "00112233-4455-6677-8899-AABBCCDDEEFF"))
        let context = SessionEventContext(
            metadata: SessionSyncMetadata(
                sessionID: session, featureID: "list", sourcePeerID: "a", eventID: id, sequence: 1,
                causalTimestamp: noon, payloadType: "list.event"))
        let ids = (0..<100).map { context.uuid($0) }
        #expect(Set(ids).count == 100)
        #expect(ids.allSatisfy { $0.uuid.6 >> 4 == 8 && $0.uuid.8 >> 6 == 2 })
        #expect(context.uuid() == context.uuid(0))
        var random = context.randomNumberGenerator
        #expect(ids[0].uuidString == "D6320384-6942-8B0C-8F4B-A54A31295B4F")
        #expect(random.next() == 441_655_745_554_878_928)
        #expect(random.shuffled(Array(1...5)) == [3, 5, 1, 4, 2])
        let draws = (0..<1000).map { _ in random.integer(in: -1...1) }
        #expect(Set(draws) == [-1, 0, 1])
        #expect(random.integer(in: .min ... .max) != random.integer(in: .min ... .max))
        #expect(random.integer(in: 5...5) == 5)
    }

    @Test func `A reducer that makes its own IDs raises an alarm with the event in a debug build`() throws {
        var engine = engine("a")
        for event in ["one", "careless", "two", "careless"] { _ = try engine.submitLocal(event, at: noon) }
        let alarms = engine.takeDirectives().alarms
        #expect(
            alarms == [.nondeterministicReducer(eventSequence: SourceSequence(source: engine.source, sequence: 2))],
            "once, and the first")
        var silent = self.engine("a", samples: false)
        _ = try silent.submitLocal("careless", at: noon)
        #expect(silent.takeDirectives().alarms.isEmpty)
    }

    @Test(arguments: 0..<20 as Range<UInt64>)
    func `A set that lists its elements in another order is the same set`(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        var options = SessionEngineOptions<Set<String>, String>()
        options.samplesReducer = true
        var engine = SessionSyncEngine(
            sessionID: session, featureID: "list", localPeerID: "a", payloadType: "list.event",
            snapshotPayloadType: "list.state", initialState: [], reducer: SetReducer(),
            conflictPolicy: AcceptingConflictPolicy(), options: options)
        for _ in 0..<200 { _ = try engine.submitLocal("\(random.upTo(60))", at: noon) }
        #expect(engine.takeDirectives().alarms.isEmpty)
    }

    /// The engine encodes a state of a megabyte only a few times in a thousand events.
    @Test func `A large state is checked rarely`() throws {
        let looks = Locked(0)
        struct Large: Codable, Sendable {
            var text: String
            let looks: @Sendable () -> Void

            init(_ looks: @escaping @Sendable () -> Void) {
                text = String(repeating: "x", count: 1 << 20)
                self.looks = looks
            }
            init(from decoder: any Decoder) throws {
                text = ""
                looks = {}
            }
            func encode(to encoder: any Encoder) throws {
                looks()
                var container = encoder.singleValueContainer()
                try container.encode(text)
            }
        }
        struct Nothing: SessionSyncReducer {
            func reduce(state: inout Large, event: Int, context: SessionEventContext) {}
        }
        var options = SessionEngineOptions<Large, Int>()
        options.samplesReducer = true
        var engine = SessionSyncEngine(
            sessionID: session, featureID: "list", localPeerID: "a", payloadType: "list.event",
            snapshotPayloadType: "list.state", initialState: Large { looks.withLock { $0 += 1 } }, reducer: Nothing(),
            conflictPolicy: AcceptingConflictPolicy(), options: options)
        for number in 0..<1000 { _ = try engine.submitLocal(number, at: noon) }
        #expect(looks.withLock { (3...6).contains($0) }, "\(looks.withLock { $0 })")
    }
}
