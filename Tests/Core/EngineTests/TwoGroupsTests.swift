import Foundation
import MeshIdentity
import Testing

@testable import MeshEngine

/// Two groups of one session: one of them founded by a peer that had lost its store, or both left by all members but one.
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

    /// A peer that has gone on without the other member of its group.
    private func lastMember(_ peer: String, _ incarnation: UInt32) throws -> ListEngine {
        var pair = EnginePair(
            phone: makeEngine(peer, incarnation: incarnation), watch: makeEngine("watch", incarnation: incarnation + 1))
        for _ in 0..<3 { try pair.exchange() }
        _ = try pair.phone.submitLocal("of \(peer)", at: pair.now)
        pair.phone.goOn(without: ["watch"])
        #expect(pair.phone.membership.open.count == 1)
        return pair.phone
    }

    /// The group may have folded the event: it knows its name and no id, so a copy under another name would count again.
    @Test(arguments: [true, false])
    func `A newcomer leaves the events of a group to it, and keeps those of a life without one`(
        hearsGroup: Bool
    ) throws {
        var group = try EnginePair.joined()
        let event = try group.phone.submitLocal("tap", at: group.now)
        var tablet = makeEngine("tablet", incarnation: 3)
        _ = try tablet.receive(event)
        #expect(tablet.state == ["tap"])
        group.phone.tick(at: group.now)
        for case .control(let control, _) in group.phone.takeDirectives().outgoing where hearsGroup {
            try tablet.receiveControl(control, at: group.now)
        }
        // The phone loses its store and founds another group with the newcomer.
        var pair = EnginePair(phone: makeEngine("phone", incarnation: 9), watch: tablet)
        pair.now = group.now + 10
        for _ in 0..<15 { try pair.exchange() }
        #expect(pair.watch.isSealed)
        #expect(pair.phone.state == (hearsGroup ? [] : ["tap"]))
        #expect(pair.watch.state == pair.phone.state)
    }
}
