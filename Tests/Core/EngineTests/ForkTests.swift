import Foundation
import MeshIdentity
import Testing

@testable import MeshEngine

/// Members that continue from an older copy of their store under the same incarnation.
@Suite struct ForkTests {
    /// The phone was restored from an older copy, and wrote before it learned of the event that it had written before.
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
        #expect(pair.watch.takeDirectives().persist?.changesMembership == true, "the mark must be written")
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

    /// After a power loss a machine may lack its last commits, and its clock may be behind stamps that it has seen.
    @Test func `Incarnations that start from the same store never draw the same stamps`() throws {
        var pair = try EnginePair.joined()
        _ = try pair.phone.submitLocal("seen", at: pair.now)
        let stamps = try (UInt64(0)..<20).map { seed in
            var life = try Self.relaunched(pair.phone, seed: seed)
            return try life.submitLocal("tap", at: pair.now - 3_600).metadata.stamp
        }
        #expect(Set(stamps).count == stamps.count)
        let first = try #require(stamps.min())
        let last = try #require(stamps.max())
        #expect(last.milliseconds - first.milliseconds <= 1)
    }

    @Test func `A member that crashes before it handles its own fork detects the fork again`() throws {
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

    /// A pair whose watch has joined under incarnation 7, and that watch as it was before it joined.
    private static func pairWithNewcomer() throws -> (pair: EnginePair, newcomer: ListEngine) {
        var pair = try EnginePair.joined()
        pair.watch = makeEngine("watch", incarnation: 7)
        let newcomer = pair.watch
        for _ in 0..<5 { try pair.exchange() }
        _ = try pair.phone.receive(pair.watch.submitLocal("joined", at: pair.now))
        try pair.exchange()
        try #require(pair.phone.held[newcomer.source] > 0 && pair.alarms.isEmpty)
        return (pair, newcomer)
    }

    private static func ownFork(of engine: ListEngine, in alarms: [SessionAlarm]) -> Bool {
        alarms.contains { if case .forked(let at) = $0 { at.source == engine.source } else { false } }
    }

    @Test func `A store that forgot its join and the events written then has forked`() throws {
        var (pair, newcomer) = try Self.pairWithNewcomer()
        pair.watch = try Self.relaunched(newcomer)
        try pair.exchange()
        #expect(Self.ownFork(of: newcomer, in: pair.alarms))
        pair.watch = try pair.watch.reincarnated(as: 8, seed: 8)
        for _ in 0..<5 { try pair.exchange() }
        #expect(pair.watch.state == ["joined"] && pair.phone.state == ["joined"])
    }

    @Test func `A store from before a replaced join has forked, however much it wrote since`() throws {
        var (pair, newcomer) = try Self.pairWithNewcomer()
        pair.watch = makeEngine("watch", incarnation: 8)
        for _ in 0..<5 { try pair.exchange() }
        try #require(pair.watch.group == pair.phone.group && pair.watch.isSealed)
        pair.watch = try Self.relaunched(newcomer)
        for number in 0..<9 { _ = try pair.watch.submitLocal("late \(number)", at: pair.now) }
        try pair.exchange()
        #expect(Self.ownFork(of: newcomer, in: pair.alarms))
        pair.watch = try pair.watch.reincarnated(as: 9, seed: 9)
        for _ in 0..<5 { try pair.exchange() }
        #expect(pair.phone.state.count == 10 && pair.watch.state == pair.phone.state)
    }

    @Test func `A member whose stamps decrease has forked`() throws {
        var pair = try EnginePair.joined()
        var older = try Self.relaunched(pair.phone)
        let lost = try [pair.phone.submitLocal("a", at: pair.now), pair.phone.submitLocal("b", at: pair.now)]
        _ = try pair.watch.receive(older.submitLocal("a again", at: pair.now + 5))
        _ = try pair.watch.receive(lost[1])
        #expect(pair.watch.state == ["a again"])
        #expect(Self.ownFork(of: pair.phone, in: pair.watch.takeDirectives().alarms))
    }
}
