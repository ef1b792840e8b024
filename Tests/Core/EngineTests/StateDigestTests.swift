import Foundation
import MeshIdentity
import Testing

@testable import MeshEngine

@Suite struct StateDigestTests {
    /// Submits events on both sides, so that some arrive late, and confirms them.
    private func confirm(_ count: Int, in pair: inout EnginePair) throws {
        for number in 0..<count {
            _ = try pair.phone.submitLocal("\(pair.phone.held.entries.count) \(number)", at: pair.now)
            pair.now += 0.001
        }
        for _ in 0..<4 { try pair.exchange() }
    }

    private func digest(
        _ milestone: SessionMilestone<[String]>, _ state: UInt64 = 1, version: UInt64 = 1
    ) -> StateDigest {
        StateDigest(position: milestone.position, chain: milestone.chain, state: state, version: version)
    }

    @Test(arguments: [1, 31, 32, 33, 63, 64, 100, 1_000])
    func `a milestone is the state after a multiple of 32 confirmed events`(count: Int) throws {
        var pair = try EnginePair.joined()
        for number in 0..<count {
            _ = try pair.phone.submitLocal("\(number)", at: pair.now)
            pair.now += 0.001
            if number % 7 == 0 { try pair.exchange() }
        }
        for _ in 0..<8 { try pair.exchange() }
        _ = try pair.watch.submitLocal("beyond", at: pair.now)
        #expect(pair.phone.confirmedCount == count)
        let whole = count / 32 * 32
        for engine in [pair.phone, pair.watch] {
            let milestone = engine.milestone()
            #expect(milestone?.position == (whole > 0 ? UInt64(whole) : nil))
            #expect(milestone.map { $0.state == (0..<whole).map(String.init) } ?? true)
        }
        #expect(pair.phone.milestone()?.chain == pair.watch.milestone()?.chain)
        #expect(pair.phone.milestone(every: 1 << 20) == nil)
    }

    @Test func `both members raise the alarm once, and again after they agreed`() throws {
        var pair = try EnginePair.joined()
        for (round, states) in [(1, 2), (1, 2), (3, 3), (1, 2)].enumerated() {
            try confirm(32, in: &pair)
            let milestones = try (#require(pair.phone.milestone()), #require(pair.watch.milestone()))
            #expect(milestones.0.position == 32 * UInt64(round + 1))
            pair.phone.add(digest(milestones.0, UInt64(states.0)))
            pair.watch.add(digest(milestones.1, UInt64(states.1)))
            #expect(pair.phone.milestone() == nil, "it has a digest")
            for _ in 0..<3 { try pair.exchange() }
            let expected = (round < 3 ? [32, 32] : [32, 32, 128, 128]).map { SessionAlarm.stateDiverged(position: $0) }
            #expect(pair.alarms == expected)
        }
        #expect(!pair.phone.hasForked && !pair.watch.hasForked && pair.phone.isSealed)
    }

    @Test func `other positions, chains and versions are not compared`() throws {
        let own = StateDigest(position: 32, chain: 5, state: 1, version: 1)
        #expect(own.agrees(with: StateDigest(position: 32, chain: 5, state: 2, version: 1)) == false)
        #expect(own.agrees(with: StateDigest(position: 64, chain: 5, state: 2, version: 1)) == nil)
        #expect(own.agrees(with: StateDigest(position: 32, chain: 6, state: 2, version: 1)) == nil)
        #expect(own.agrees(with: StateDigest(position: 32, chain: 5, state: 2, version: 2)) == nil)
    }

    @Test func `a digest is in eight controls, and a stranger's is ignored`() throws {
        var pair = try EnginePair.joined()
        try confirm(32, in: &pair)
        pair.phone.add(digest(try #require(pair.phone.milestone())))
        var sentCount = 0
        for _ in 0..<20 {
            pair.phone.tick(at: pair.now)
            for case .control(let envelope, _) in pair.phone.takeDirectives().outgoing
            where envelope.payload.stateDigest != nil {
                sentCount += 1
            }
        }
        #expect(sentCount == 8)
        pair.watch.add(digest(try #require(pair.watch.milestone())))
        var stranger = makeEngine("stranger", incarnation: 9)
        stranger.tick(at: pair.now)
        for case .control(var envelope, _) in stranger.takeDirectives().outgoing {
            envelope.payload.stateDigest = digest(try #require(pair.phone.milestone() ?? pair.otherMilestone), 7)
            try pair.watch.receiveControl(envelope, at: pair.now)
        }
        #expect(!pair.watch.takeDirectives().alarms.contains { if case .stateDiverged = $0 { true } else { false } })
    }

    @Test func `nothing is compared while an event is unread`() throws {
        var pair = try EnginePair.joined()
        let metadata = try pair.phone.submitLocal("unread", at: pair.now).metadata
        _ = try pair.watch.receiveOpaque(metadata, bytes: [1], codec: 2)
        for _ in 0..<3 { try pair.exchange() }
        try confirm(40, in: &pair)
        #expect(pair.watch.unreadCount == 1 && pair.watch.confirmedCount == 41)
        #expect(pair.watch.milestone() == nil && pair.phone.milestone() != nil)
    }

    @Test func `a digest with an impossible position is refused`() throws {
        var control = SessionControl()
        control.stateDigest = StateDigest(position: 1 << 60, chain: 0, state: 0, version: 0)
        #expect(throws: SessionSyncError.outOfRange(field: "stateDigest")) { try control.checkNumbers() }
    }
}

extension EnginePair {
    fileprivate var otherMilestone: SessionMilestone<[String]>? {
        var engine = phone
        engine.comparison = StateComparison()
        return engine.milestone()
    }
}
