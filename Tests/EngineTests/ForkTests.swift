import Foundation
import MeshIdentity
import Testing

@testable import MeshEngine

/// What a member is worth that goes on with an older copy of its store under the same name.
@Suite struct ForkTests {
    /// The phone went back to what it was, and wrote before it heard of what it had written before.
    private static func pairWithForkedPhone() throws -> EnginePair {
        var pair = try EnginePair.joined()
        var older = try relaunched(pair.phone)
        _ = try pair.watch.receive(pair.phone.submitLocal("before", at: pair.now))
        _ = pair.watch.takeDirectives()
        #expect(try pair.watch.receive(older.submitLocal("again", at: pair.now + 1)) == .duplicate(["before"]))
        pair.phone = older
        pair.now += 2
        return pair
    }

    private static func relaunched(_ engine: ListEngine, seed: UInt64 = 9) throws -> ListEngine {
        try ListEngine(
            restoring: engine.image, reducer: ListReducer(), conflictPolicy: NoRepeatPolicy(), seed: seed)
    }

    @Test func `Nothing is confirmed while a member is known to have forked, not even after a relaunch`() throws {
        var pair = try Self.pairWithForkedPhone()
        #expect(pair.watch.takeDirectives().persist?.changesMembership == true, "the mark has to be written")
        #expect(pair.watch.image.head.forked == [pair.phone.source])
        pair.watch = try Self.relaunched(pair.watch)
        #expect(pair.watch.image.head.forked == [pair.phone.source])

        _ = try pair.phone.receive(pair.watch.submitLocal("tap", at: pair.now))
        let confirmed = pair.watch.confirmedCount
        for _ in 0..<3 { try pair.exchange() }
        #expect(pair.alarms.contains { if case .forked(let at) = $0 { at.source == pair.phone.source } else { false } })
        #expect(pair.watch.confirmedCount == confirmed)

        pair.phone = try pair.phone.reincarnated(as: 4, seed: 4)
        for _ in 0..<5 { try pair.exchange() }
        #expect(pair.watch.image.head.forked.isEmpty)
        #expect(Set(pair.watch.state) == ["before", "again", "tap"] && pair.watch.state.count == 3)
        #expect(pair.phone.state == pair.watch.state)
        #expect(pair.watch.confirmedCount > confirmed && pair.watch.ownUnconfirmedCount == 0)
    }

    @Test func `A member that learns of its own fork and crashes before it acts on that learns it again`() throws {
        var pair = try Self.pairWithForkedPhone()
        for message in pair.watch.takeDirectives().outgoing {
            try EnginePair.deliver(message, to: &pair.phone, at: pair.now)
        }
        let alarm = SessionAlarm.forked(SourceSequence(source: pair.phone.source, sequence: 1))
        #expect(pair.phone.takeDirectives().alarms == [alarm])
        var relaunched = try Self.relaunched(pair.phone)
        #expect(relaunched.takeDirectives().alarms == [alarm])
        var renamed = try relaunched.reincarnated(as: 4, seed: 4)
        #expect(renamed.takeDirectives().alarms.isEmpty)
    }
}
