import Foundation
import MeshIdentity
import Testing

@testable import MeshEngine

/// Two groups of one session, each with one member left.
@Suite struct TwoGroupsTests {
    @Test func `The last member of a group joins another group of the session, with its events`() throws {
        var pair = EnginePair(phone: try lastMember("phone", 1), watch: try lastMember("tablet", 7))
        pair.now += 10
        pair.phone.invite("tablet")
        pair.watch.invite("phone")
        try pair.exchange()
        #expect(pair.alarms.contains(.fenced(view: 1)))
        pair.watch = try pair.watch.reincarnated(as: 9, seed: 1)
        for _ in 0..<12 { try pair.exchange() }
        #expect(pair.phone.membership.open.map(\.source.peerID) == ["phone", "tablet"])
        #expect(pair.watch.membership == pair.phone.membership)
        #expect(pair.phone.state.sorted() == ["of phone", "of tablet"])
        #expect(pair.watch.state == pair.phone.state)
    }

    /// A peer that has continued without the other member of its group.
    private func lastMember(_ peer: String, _ incarnation: UInt32) throws -> ListEngine {
        var pair = EnginePair(
            phone: makeEngine(peer, incarnation: incarnation), watch: makeEngine("watch", incarnation: incarnation + 1))
        for _ in 0..<3 { try pair.exchange() }
        _ = try pair.phone.submitLocal("of \(peer)", at: pair.now)
        pair.phone.removeMembers(["watch"])
        #expect(pair.phone.membership.open.count == 1)
        return pair.phone
    }
}
