import Foundation
import MeshIdentity
import Testing

@testable import MeshEngine

/// Behavior at each bound, and for input that should never occur.
@Suite struct BoundTests {
    private func engine(_ peer: String = "phone", _ change: (inout SessionEngineOptions<[String], String>) -> Void)
        -> ListEngine
    {
        var options = SessionEngineOptions<[String], String>()
        change(&options)
        return ListEngine(
            sessionID: session, featureID: "list", localPeerID: peer, payloadType: "list.event",
            snapshotPayloadType: "list.state", initialState: [], reducer: ListReducer(),
            conflictPolicy: NoRepeatPolicy(), incarnation: peer == "phone" ? 1 : 2, options: options)
    }

    @Test func `a full log rejects an event before it uses a sequence`() throws {
        var phone = engine { $0.ownUnconfirmedMax = 10 }
        phone.tick(at: noon)
        for number in 0..<10 { _ = try phone.submitLocal("\(number)", at: noon) }
        #expect(throws: SessionSyncError.logFull(limit: 10)) { try phone.submitLocal("more", at: noon) }
        #expect(phone.store.nextLocalSequence == 11)
        #expect(phone.state.count == 10)
    }

    @Test func `the log is bounded in bytes, too`() throws {
        var phone = engine {
            $0.ownUnconfirmedBytesMax = 10_000
            $0.eventBytes = { $0.utf8.count }
        }
        phone.tick(at: noon)
        for letter in "abc" { _ = try phone.submitLocal(String(repeating: letter, count: 3300), at: noon) }
        #expect(throws: SessionSyncError.logFull(limit: 4096)) { try phone.submitLocal("z", at: noon) }
    }

    @Test func `without a group the older half is folded, with an alarm`() throws {
        var phone = engine { $0.ownUnconfirmedMax = 100 }
        for number in 0..<1000 { _ = try phone.submitLocal("\(number)", at: noon) }
        #expect(phone.state == (0..<1000).map(String.init))
        #expect((32...100).contains(phone.logCount))
        let alarms = phone.takeDirectives().alarms
        #expect(alarms.contains { if case .foldedUnconfirmed = $0 { true } else { false } })
    }

    @Test func `a gap buffer keeps the events nearest to the gap`() throws {
        var phone = makeEngine("phone")
        var watch = engine("watch") { $0.gapMax = 4 }
        let events = try (0..<20).map { try phone.submitLocal("\($0)", at: noon) }
        for event in events.dropFirst().reversed() {
            #expect(
                try watch.receive(event)
                    == .snapshotRequired(expectedSequence: 1, receivedSequence: event.metadata.sequence))
        }
        #expect(watch.gapCount == 4)
        #expect(watch.missing == [SessionRange(source: phone.source, first: 1, last: 1)])
        #expect(try watch.receive(events[0]) == .applied(["0", "1", "2", "3", "4"]))
        #expect(watch.takeApplied().map(\.envelope.payload) == ["0", "1", "2", "3", "4"])
    }

    /// Regression: each incarnation of a peer could buffer as many bytes as the limit for one.
    @Test func `a peer's incarnations share one byte budget for waiting events`() throws {
        var watch = engine("watch") { $0.eventBytes = { _ in 3 << 20 } }
        for incarnation in 1...10 as ClosedRange<UInt32> {
            var phone = makeEngine("phone", incarnation: incarnation)
            let events = try (0..<4).map { try phone.submitLocal("\(incarnation): \($0)", at: noon) }
            for event in events.dropFirst() { _ = try watch.receive(event) }
            #expect(watch.gaps.values.reduce(0) { $0 + $1.byteCount } <= GapBuffer<String>.bytesMax)
            // The watch would request the dropped events again.
            for event in events { _ = try watch.receive(event) }
        }
        #expect(watch.state.count == 40)
        #expect(watch.gapCount == 0)
    }

    @Test func `confirmation waits until the caller takes the confirmed events`() throws {
        var pair = EnginePair(phone: engine { $0.confirmedMax = 5 }, watch: engine("watch") { _ in })
        for _ in 0..<3 { try pair.exchange() }
        for number in 0..<20 { _ = try pair.watch.receive(pair.phone.submitLocal("\(number)", at: pair.now)) }
        pair.watch.tick(at: pair.now + 1)
        for message in pair.watch.takeDirectives().outgoing {
            try EnginePair.deliver(message, to: &pair.phone, at: pair.now + 1)
        }
        #expect(pair.phone.takeDirectives().confirmed.map(\.position) == [0, 1, 2, 3, 4])
        #expect(pair.phone.takeDirectives().confirmed.map(\.position) == [5, 6, 7, 8, 9])
    }

    @Test func `side effects that were not marked run again after a crash`() throws {
        var pair = EnginePair(phone: engine { $0.keepsSideEffects = true })
        for _ in 0..<3 { try pair.exchange() }
        _ = try pair.watch.receive(pair.phone.submitLocal("once", at: pair.now))
        for _ in 0..<2 { try pair.exchange() }
        #expect(pair.phone.sideEffectsDue.map(\.envelope.payload) == ["once"])
        var relaunched = try ListEngine(
            restoring: pair.phone.image, reducer: ListReducer(), conflictPolicy: NoRepeatPolicy(), seed: 1,
            options: pair.phone.options)
        #expect(relaunched.sideEffectsDue.map(\.envelope.payload) == ["once"])
        relaunched.markSideEffects(through: 0)
        #expect(relaunched.image.head.sideEffectsDue.isEmpty)
    }

    @Test func `positions that begin again in a rejoined group leave each side effect to be marked by itself`() throws {
        var pair = EnginePair(phone: engine { $0.keepsSideEffects = true })
        for _ in 0..<3 { try pair.exchange() }
        _ = try pair.watch.receive(pair.phone.submitLocal("once", at: pair.now))
        for _ in 0..<2 { try pair.exchange() }
        let entry = try #require(pair.phone.due.entries.first).entry
        var due = DueEffects(
            stored: [98, 99, 51, 52].map { ConfirmedEntry<String>(position: $0, entry: entry) })
        #expect(due.mark(through: 98) == 1)
        #expect(due.entries.map(\.position) == [99, 51, 52])
        #expect(due.takeChanges() == (1, 0))
        #expect(due.mark(through: 51) == 2)
        #expect(due.takeChanges() == (2, 0))
        // Without an entry at the position.
        #expect(due.mark(through: 60) == 1)
        #expect(due.count == 0)
    }

    @Test func `a pending side effect still reports after a crash that its event was rejected`() throws {
        var pair = EnginePair(phone: engine { $0.keepsSideEffects = true })
        for _ in 0..<3 { try pair.exchange() }
        let first = try pair.phone.submitLocal("both", at: pair.now)
        let second = try pair.watch.submitLocal("both", at: pair.now + 1)
        _ = try pair.watch.receive(first)
        _ = try pair.phone.receive(second)
        for _ in 0..<2 { try pair.exchange() }
        #expect(pair.phone.sideEffectsDue.map(\.outcome) == [.applied, .rejected])
        let relaunched = try ListEngine(
            restoring: pair.phone.image, reducer: ListReducer(), conflictPolicy: NoRepeatPolicy(), seed: 1,
            options: pair.phone.options)
        #expect(relaunched.sideEffectsDue.map(\.outcome) == [.applied, .rejected])
    }

    @Test func `an image restores everything after a round trip through JSON`() throws {
        var pair = try EnginePair.joined()
        for number in 0..<70 { _ = try pair.watch.receive(pair.phone.submitLocal("\(number)", at: pair.now)) }
        try pair.exchange()
        _ = try pair.phone.submitLocal("not confirmed", at: pair.now)
        let image = pair.phone.image
        let data = try JSONEncoder().encode(image)
        let restored = try ListEngine(
            restoring: JSONDecoder().decode(SessionEngineImage<[String], String>.self, from: data),
            reducer: ListReducer(), conflictPolicy: NoRepeatPolicy(), seed: 9)
        #expect(restored.state == pair.phone.state)
        #expect(restored.held == pair.phone.held)
        #expect(restored.membership == pair.phone.membership)
        #expect(restored.chain == pair.phone.chain)
        #expect(restored.isSealed && restored.group == pair.phone.group)
        #expect(restored.ownUnconfirmedCount == pair.phone.ownUnconfirmedCount)
        pair.phone = restored
        for _ in 0..<2 { try pair.exchange() }
        #expect(pair.phone.state == pair.watch.state)
        #expect(pair.phone.ownUnconfirmedCount == 0)
    }

    @Test func `a store restored from a backup is detected and continues as another incarnation`() throws {
        var pair = try EnginePair.joined()
        let backup = pair.phone.image
        for number in 0..<3 { _ = try pair.watch.receive(pair.phone.submitLocal("\(number)", at: pair.now)) }
        for _ in 0..<2 { try pair.exchange() }
        pair.phone = try ListEngine(
            restoring: backup, reducer: ListReducer(), conflictPolicy: NoRepeatPolicy(), seed: 3)
        pair.alarms = []
        try pair.exchange()
        #expect(pair.alarms.contains { if case .forked(let at) = $0 { at.source == pair.phone.source } else { false } })
        pair.phone = try pair.phone.reincarnated(as: 4, seed: 4)
        _ = try pair.phone.submitLocal("after", at: pair.now)
        for _ in 0..<5 { try pair.exchange() }
        #expect(pair.phone.state == ["0", "1", "2", "after"])
        #expect(pair.watch.state == pair.phone.state)
    }

    @Test func `one sequence with two contents is a fork`() throws {
        var phone = makeEngine("phone")
        var copy = phone
        var watch = makeEngine("watch")
        _ = try watch.receive(phone.submitLocal("one", at: noon))
        #expect(try watch.receive(copy.submitLocal("other", at: noon + 1)) == .duplicate(["one"]))
        #expect(watch.takeDirectives().alarms == [.forked(SourceSequence(source: phone.source, sequence: 1))])
    }

    @Test func `an event below its author's promise is rejected as a sign of a restored store`() throws {
        var pair = try EnginePair.joined()
        var liar = pair.watch
        try pair.exchange()
        let late = try liar.submitLocal("late", at: noon - 100)
        var forged = late
        forged.metadata.stamp = HybridTimestamp(milliseconds: 1)
        let state = pair.phone.state
        #expect(try pair.phone.receive(forged) == .ignored(state))
        let place = SourceSequence(source: pair.watch.source, sequence: late.metadata.sequence)
        #expect(pair.phone.takeDirectives().alarms == [.promiseBroken(place), .forked(place)])
    }

    @Test func `a stamp beyond any clock is rejected`() throws {
        var watch = makeEngine("watch")
        var phone = makeEngine("phone")
        var event = try phone.submitLocal("far", at: noon)
        event.metadata.stamp = HybridTimestamp(rawValue: .max)
        #expect(try watch.receive(event) == .ignored([]))
        #expect(try watch.submitLocal("now", at: noon).metadata.stamp.milliseconds == 1_700_000_000_000)
    }

    @Test func `an updated app reads what it could not read before`() throws {
        var pair = try EnginePair.joined()
        var newer = try pair.phone.submitLocal("lap", at: pair.now)
        newer.metadata.payloadType = "list.event/2"
        let state = pair.watch.state
        #expect(try pair.watch.receiveOpaque(newer.metadata, bytes: Array("lap".utf8), codec: 1) == .ignored(state))
        #expect(pair.watch.unreadCount == 1)
        var options = SessionEngineOptions<[String], String>()
        options.upcast = { metadata, bytes, _ in
            metadata.payloadType == "list.event/2" ? String(decoding: bytes, as: UTF8.self) : nil
        }
        let updated = try ListEngine(
            restoring: pair.watch.image, reducer: ListReducer(), conflictPolicy: NoRepeatPolicy(), seed: 1,
            options: options)
        #expect(updated.state == ["lap"])
        #expect(updated.unreadCount == 0)
    }

    @Test func `a state-only snapshot never moves a member`() throws {
        var pair = try EnginePair.joined()
        _ = try pair.watch.receive(pair.phone.submitLocal("shared", at: pair.now))
        _ = try pair.watch.submitLocal("mine", at: pair.now)
        var snapshot = pair.watch.makeSnapshot(at: pair.now)
        snapshot.state = ["something else"]
        let before = pair.phone.held
        guard case .staleIgnored(let state, _) = try pair.phone.applySnapshot(snapshot) else {
            Issue.record("a member took a state")
            return
        }
        #expect(state == ["shared"])
        #expect(pair.phone.held == before)
        for _ in 0..<2 { try pair.exchange() }
        #expect(pair.phone.state == ["shared", "mine"], "the event came by range")
    }

    @Test func `a shown state is replaced by its events once they are held`() throws {
        var phone = makeEngine("phone")
        var watch = makeEngine("watch")
        let events = try ["one", "two"].map { try phone.submitLocal($0, at: noon) }
        _ = try watch.submitLocal("mine", at: noon + 1)
        _ = try watch.applySnapshot(phone.makeSnapshot(at: noon))
        #expect(watch.isProvisional)
        #expect(watch.state == ["one", "two", "mine"])
        #expect(try watch.receive(events[0]) == .duplicate(["one", "two", "mine"]))
        #expect(
            try watch.receive(events[1]) == .applied(["one", "two", "mine"]), "from here on the events' order decides")
        #expect(!watch.isProvisional)
        #expect(watch.state == ["one", "two", "mine"])
    }

    @Test func `a nondeterministic reducer is detected by reducing twice`() throws {
        struct Dice: SessionSyncReducer {
            func reduce(state: inout [String], event: String, context: SessionEventContext) {
                state.append(event == "dice" ? UUID().uuidString : event)
            }
        }
        var options = SessionEngineOptions<[String], String>()
        options.reducesTwice = true
        var engine = SessionSyncEngine(
            sessionID: session, featureID: "list", localPeerID: "phone", payloadType: "list.event",
            snapshotPayloadType: "list.state", initialState: [], reducer: Dice(),
            conflictPolicy: AcceptingConflictPolicy(), options: options)
        _ = try engine.submitLocal("fair", at: noon)
        #expect(engine.takeDirectives().alarms.isEmpty)
        _ = try engine.submitLocal("dice", at: noon)
        #expect(
            engine.takeDirectives().alarms
                == [.nondeterministicReducer(eventSequence: SourceSequence(source: engine.source, sequence: 2))])
    }

    @Test func `the newest sample of a key wins and the keys are bounded`() {
        var watch = EphemeralLane<Int>(source: SessionSource(peerID: "watch"), keysMax: 2)
        var phone = EphemeralLane<Int>(source: SessionSource(peerID: "phone"), keysMax: 2)
        let first = watch.record(140, for: "bpm", at: noon)
        let second = watch.record(150, for: "bpm", at: noon + 1)
        #expect(phone.receive(second) == true)
        #expect(phone.receive(first) == false, "the older one came late")
        #expect(phone.receive(second) == false)
        #expect(phone["bpm"]?.value == 150)
        for (index, key) in ["pace", "power"].enumerated() {
            phone.receive(watch.record(1, for: key, at: noon + 2 + Double(index)))
        }
        #expect(phone.samples.map(\.key) == ["pace", "power"])
    }
}
