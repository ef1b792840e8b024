import Foundation
import MeshBase
import MeshIdentity
import Testing

@testable import MeshEngine

/// A reducer that counts its runs.
private struct CountingReducer: SessionSyncReducer {
    let count: Locked<Int>

    func reduce(state: inout [Int], event: Int, context: SessionEventContext) {
        count.withLock { $0 += 1 }
        state.append(event)
    }
}

private typealias CountingEngine = SessionSyncEngine<[Int], Int, CountingReducer, AcceptingConflictPolicy<[Int], Int>>

struct GatherTests {
    @Test func `A large state has few checkpoints, and late events are still inserted at their places`() throws {
        var options = SessionEngineOptions<[String], String>()
        options.encodedStateBytes = { _ in 1 << 20 }
        func engine(_ options: SessionEngineOptions<[String], String>) -> ListEngine {
            ListEngine(
                sessionID: session, featureID: "list", localPeerID: "phone", payloadType: "list.event",
                snapshotPayloadType: "list.state", initialState: [], reducer: ListReducer(),
                conflictPolicy: NoRepeatPolicy(), incarnation: 1, options: options)
        }
        var (few, many) = (engine(options), engine(.init()))
        var other = makeEngine("watch", incarnation: 2)
        var late: [SessionSyncEnvelope<String>] = []
        for number in 0..<2_000 {
            let moment = noon + Double(number)
            _ = try few.submitLocal("tap \(number)", at: moment)
            _ = try many.submitLocal("tap \(number)", at: moment)
            _ = few.takeDirectives()
            _ = many.takeDirectives()
            if number.isMultiple(of: 100) { late.append(try other.submitLocal("late \(number)", at: moment + 0.5)) }
        }
        #expect(few.log.marks.count <= 8 && many.log.marks.count > 8)
        for envelope in late {
            _ = try few.receive(envelope)
            _ = try many.receive(envelope)
        }
        #expect(few.state == many.state && few.state.count == 2_020)
        #expect(few.log.marks.count <= 8)
    }

    @Test func `Many batches of late events run the reducer once each`() throws {
        let count = Locked(0)
        func engine(_ peerID: String) -> CountingEngine {
            var options = SessionEngineOptions<[Int], Int>()
            options.catchesUpLater = true
            options.samplesReducer = false
            return CountingEngine(
                sessionID: session, featureID: "list", localPeerID: peerID, payloadType: "list.event",
                snapshotPayloadType: "list.state", initialState: [], reducer: CountingReducer(count: count),
                conflictPolicy: AcceptingConflictPolicy(), incarnation: 1, options: options)
        }
        var (phone, watch) = (engine("phone"), engine("watch"))
        for number in 0..<2_000 { _ = try phone.submitLocal(number, at: noon + Double(number)) }
        let late = try (0..<2_000).map { try watch.submitLocal($0, at: noon + Double($0) + 0.5) }
        count.withLock { $0 = 0 }
        for start in stride(from: 0, to: late.count, by: 64) {
            try phone.gather { for envelope in late[start...].prefix(64) { _ = try $0.receive(envelope) } }
        }
        #expect(phone.isBehind && phone.state.count == 2_000)
        var applied = 0
        while phone.isBehind {
            phone.catchUp(atMost: 100)
            applied += phone.takeApplied().count
        }
        #expect(applied == 2_000 && phone.state.count == 4_000)
        // The phone's events after the first late one, and those between it and the last checkpoint, run again.
        #expect(count.withLock { $0 } <= 4_000)
    }

    /// Events of three authors in any order, with some rejected, duplicated or missing. An engine that receives them in batches
    /// must end in the same state as one that receives them singly, and both report the same applied events.
    @Test(arguments: 0..<300 as Range<UInt64>)
    func `Events received together have the same result as one by one`(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        var envelopes: [SessionSyncEnvelope<String>] = []
        for author in ["b", "c", "d"] {
            var engine = makeEngine(author, incarnation: 1)
            for number in 0..<Int(random.upTo(40)) {
                let text = random.upTo(9) == 0 ? "poison" : "\(random.upTo(3))"
                let moment = noon.addingTimeInterval(Double(number) + Double(random.upTo(500)) / 100)
                // The author's reducer rejects poison. A different version of the reducer may accept it.
                if let envelope = try? engine.submitLocal(text, at: moment) { envelopes.append(envelope) }
            }
        }
        if random.upTo(3) > 0 { envelopes.shuffle(using: &random) }
        envelopes += envelopes.shuffled(using: &random).prefix(Int(random.upTo(5)))
        var (alone, together) = (makeEngine("a", incarnation: 1), makeEngine("a", incarnation: 1, catchesUpLater: true))
        for number in 0..<Int(random.upTo(10)) {
            let moment = noon.addingTimeInterval(Double(number) * 3)
            _ = try alone.submitLocal("own \(number)", at: moment)
            _ = try together.submitLocal("own \(number)", at: moment)
        }
        var (told, toldTogether): ([UUID], [UUID]) = ([], [])
        func ids(_ applied: [SessionAppliedEvent<String>]) -> [UUID] {
            applied.map(\.envelope.metadata).filter { $0.sourcePeerID != "a" }.map(\.eventID)
        }
        var rest = envelopes[...]
        while !rest.isEmpty {
            let heap = rest.prefix(Int(random.upTo(20)) + 1)
            rest = rest.dropFirst(heap.count)
            for envelope in heap {
                _ = try alone.receive(envelope)
                told += ids(alone.takeApplied())
            }
            try together.gather { for envelope in heap { _ = try $0.receive(envelope) } }
            toldTogether += ids(together.takeApplied())
            // Catches up on the rest later, perhaps after the next batch.
            while together.isBehind, random.upTo(3) > 0 {
                together.catchUp(atMost: Int(random.upTo(12)))
                toldTogether += ids(together.takeApplied())
            }
            if random.upTo(3) == 0 {
                let moment = noon.addingTimeInterval(Double(random.upTo(60)))
                let before = together.state
                _ = try alone.submitLocal("tap \(rest.count)", at: moment)
                _ = try together.submitLocal("tap \(rest.count)", at: moment)
                #expect(together.state.last == "tap \(rest.count)" && together.state.dropLast() == before[...])
            }
            if !together.isBehind { #expect(together.state == alone.state, "seed \(seed)") }
            #expect(together.held == alone.held, "seed \(seed)")
        }
        together.catchUp()
        toldTogether += ids(together.takeApplied())
        #expect(together.state == alone.state, "seed \(seed)")
        #expect(told.count == toldTogether.count && Set(told) == Set(toldTogether), "seed \(seed)")
        #expect(together.missing == alone.missing, "seed \(seed)")
        let outcomes = { (engine: ListEngine) in engine.log.entries.map(\.outcome) }
        #expect(outcomes(together) == outcomes(alone), "seed \(seed)")
        // Checkpoints may differ. Only the state that a replay from them gives must be equal.
        var (again, againTogether) = (alone.log, together.log)
        again.rollBack(to: 0)
        againTogether.replay(by: together.interpreter, sources: together.sources)
        again.replay(by: alone.interpreter, sources: alone.sources)
        #expect(again.current.state == againTogether.current.state, "seed \(seed)")
    }

    /// The reducer runs once for each late event and once for each event after it. In addition it repeats fewer earlier events
    /// than lie between two checkpoints.
    @Test(arguments: [10, 500, 2000]) func `Late events that arrive together are reduced once`(count: Int) throws {
        let runs = Locked(0)
        func engine(_ peer: String) -> CountingEngine {
            var options = SessionEngineOptions<[Int], Int>()
            options.ownUnconfirmedMax = 10_000
            return CountingEngine(
                sessionID: session, featureID: "list", localPeerID: peer, payloadType: "list.event",
                snapshotPayloadType: "list.state", initialState: [], reducer: CountingReducer(count: runs),
                conflictPolicy: AcceptingConflictPolicy(), incarnation: 1, options: options)
        }
        var (here, there) = (engine("a"), engine("b"))
        for number in 0..<count { _ = try here.submitLocal(number, at: noon.addingTimeInterval(Double(number))) }
        let late = try (0..<count).map { number in
            try there.submitLocal(-number, at: noon.addingTimeInterval(Double(number) + 0.5))
        }
        runs.withLock { $0 = 0 }
        try here.gather { for envelope in late { _ = try $0.receive(envelope) } }
        let needed = runs.withLock { $0 }
        #expect(needed <= 2 * count + 32, "\(needed) runs for \(count) late events")
        #expect(here.state.count == 2 * count)
    }

    @Test func `A member that contradicts itself is detected in events received together`() throws {
        let members = ["a", "b"].map { SessionSource(peerID: $0, incarnation: 1) }
        func engine(_ peer: String) -> ListEngine {
            ListEngine(
                sessionID: session, featureID: "list", localPeerID: peer, payloadType: "list.event",
                snapshotPayloadType: "list.state", initialState: [], reducer: ListReducer(),
                conflictPolicy: NoRepeatPolicy(), incarnation: 1, members: members)
        }
        var (here, there, copy) = (engine("a"), engine("b"), engine("b"))
        for seconds in [0, 9, 18] {
            _ = try here.submitLocal("at \(seconds)", at: noon.addingTimeInterval(Double(seconds)))
        }
        let first = try there.submitLocal("1", at: noon.addingTimeInterval(5))
        _ = try copy.submitLocal("1", at: noon.addingTimeInterval(2))
        var second = try copy.submitLocal("2", at: noon.addingTimeInterval(3))
        second.metadata.promise = nil
        var honest = first
        honest.metadata.promise = nil
        try here.gather {
            _ = try $0.receive(honest)
            _ = try $0.receive(second)
        }
        let alarms = here.takeDirectives().alarms
        let isReported = alarms.contains {
            if case .forked(let place) = $0 { place.source == members[1] } else { false }
        }
        #expect(isReported, "\(alarms)")
        #expect(here.held[members[1]] == 1)
    }
}
