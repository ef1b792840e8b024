import Foundation
import MeshBrokenRules
import MeshIdentity
import Testing

@testable import MeshEngine

/// Additions of members: views that a member learns about from others only, and members that don't exist.
@Suite struct AdditionTests {
    /// Regression: a member adopted a control that named 30 members, and its group never confirmed anything again.
    @Test func `A control that adds more members than a group may have is rejected`() throws {
        var group = EngineGroup(paired: ["phone", "tablet", "watch"])
        try group.run(rounds: 2)
        let lie = claim(of: &group, by: "watch", adding: ghosts(30))
        for name in ["phone", "tablet"] {
            #expect(throws: SessionSyncError.outOfRange(field: "membership")) {
                try group[name].receiveControl(lie, at: group.now)
            }
        }
        try expectConfirms(&group, ["phone", "tablet", "watch"])
    }

    @Test(arguments: [1, 13])
    func `A member that is connected to others doesn't follow one that adds members`(count: Int) throws {
        var group = EngineGroup(paired: ["phone", "tablet", "watch"])
        try group.run(rounds: 2)
        // Longer than a member waits before it follows a report that it can't contradict.
        for _ in 0..<100 { try lie(to: ["phone", "tablet"], of: &group, by: "watch", adding: ghosts(count)) }
        try expectConfirms(&group, ["phone", "tablet", "watch"])
    }

    @Test(.breaksRules, .breaks(.additionOnHearsay))
    func `Without a majority's reports, members follow one that adds members`() throws {
        var group = EngineGroup()
        for name in ["phone", "watch"] { group.add(name) }
        try group.run(rounds: 4)
        group.add("tablet", founds: false)
        group["watch"].invite("tablet")
        try group.run(rounds: 12)
        try #require(group.members(of: "phone").count == 3)
        try lie(to: ["phone"], of: &group, by: "watch", adding: ghosts(1))
        #expect(group.members(of: "phone").count == 4, "the rule is broken without detection")
    }

    /// Regression: a member believed a third member's report of where another's events begin, and dropped those events.
    @Test(arguments: [SequenceBounds.hearsay, SequenceBounds.highest])
    func `A member's report doesn't void events of another member in reach`(first: UInt64) throws {
        var group = EngineGroup(paired: ["phone", "tablet", "watch"])
        try group.run(rounds: 2)
        let named = group["phone"].source
        var lie = claim(of: &group, by: "watch", adding: [])
        lie.payload.record?.number = group["tablet"].view
        lie.payload.record?.membership.first = [SourceSequence(source: named, sequence: first)]
        lie.payload.view = ViewStatement(number: group["tablet"].view)
        for _ in 0..<3 { try group["tablet"].receiveControl(lie, at: group.now) }
        #expect(group["tablet"].held[named] == 0)
        try expectConfirms(&group, ["phone", "tablet", "watch"])
    }

    @Test func `A member that is connected to one other follows it`() throws {
        var group = EngineGroup(paired: ["phone", "tablet", "watch"])
        try group.run(rounds: 2)
        group.cut("phone", "tablet")
        group["watch"].invite("tv")
        group.add("tv", founds: false)
        group.cut("phone", "tv")
        try group.run(rounds: 12)
        #expect(group.members(of: "phone") == ["phone", "tablet", "tv", "watch"])
        #expect(group.members(of: "tablet") == ["phone", "tablet", "tv", "watch"])
    }

    /// Three members decide on a view. Two stop before they send it, so the other two learn about it from the third only.
    @Test func `A view is followed in the end although two of its three deciders are gone`() throws {
        var group = EngineGroup(paired: ["a", "b", "c", "d", "e"])
        try group.run(rounds: 2)
        for one in ["a", "b"] { for other in ["c", "d", "e", "f"] { group.cut(one, other) } }
        group.add("f", founds: false)
        group["c"].invite("f")
        // Without suspicion the group closes no member.
        try group.run(rounds: 12, suspects: false)
        #expect(group.members(of: "c").contains("f") && !group.members(of: "a").contains("f"))
        group.mend()
        for name in ["d", "e"] { group.cutOff(name) }
        try group.run(rounds: 20, suspects: false)
        #expect(group.views == [0, 1])
        try group.run(rounds: 120, suspects: false)
        #expect(group.views == [1])
        for name in ["a", "b", "c", "f"] { #expect(group.members(of: name).contains("f")) }
    }

    /// A member can get nonexistent members added by a vote in which the other members take part.
    @Test func `Removing a member also closes members that only it has reported`() throws {
        var group = EngineGroup(paired: ["phone", "tablet", "watch"])
        try group.run(rounds: 2)
        for ghost in ghosts(20) { group["watch"].membershipIntent.newcomers[ghost] = 0 }
        try group.run(rounds: 12)
        #expect(group.members(of: "phone").count > 3)
        group.cutOff("watch")
        try group.tap("phone", "waits")
        try group.run(rounds: 20)
        #expect(group.confirmed["phone"] ?? [] == [], "a majority of the view is not here")
        for name in ["phone", "tablet"] { group[name].removeMembers(["watch"]) }
        try group.run(rounds: 12)
        for name in ["phone", "tablet"] {
            #expect(group.members(of: name) == ["phone", "tablet"])
            #expect(group.confirmed[name] == ["waits"])
        }
    }

    /// One member hears only the liar and follows it. The next member follows the first.
    @Test(arguments: [["phone"], ["phone", "tablet"]])
    func `Removing a liar also closes the members that it made up`(users: [String]) throws {
        var group = EngineGroup(paired: ["phone", "tablet", "watch"])
        try group.run(rounds: 2)
        group.cut("phone", "tablet")
        try group.run(rounds: 2)
        try lie(to: ["phone"], of: &group, by: "watch", adding: ghosts(13))
        #expect(group.members(of: "phone").count == SessionMembership.openMax)
        group.mend()
        group.cutOff("watch")
        try group.run(rounds: 80)
        try group.tap("phone", "waits")
        for name in users { group[name].removeMembers(["watch"]) }
        try group.run(rounds: 12)
        for name in ["phone", "tablet"] {
            #expect(group.members(of: name) == ["phone", "tablet"])
            #expect(group.confirmed[name] == ["waits"])
        }
    }

    @Test func `Removing a member keeps the members that it admitted`() throws {
        var group = EngineGroup(paired: ["phone", "tablet", "watch"])
        group.add("tv", founds: false)
        group["watch"].invite("tv")
        try group.run(rounds: 12)
        #expect(group.members(of: "phone").contains("tv"))
        group.cutOff("watch")
        for name in ["phone", "tablet", "tv"] { group[name].removeMembers(["watch"]) }
        try group.run(rounds: 12)
        for name in ["phone", "tablet", "tv"] { #expect(group.members(of: name) == ["phone", "tablet", "tv"]) }
    }

    /// Two members decide. One stops, and the other has accepted the view without installing it, so the newcomer isn't a
    /// member in its view. The third member hasn't heard of the newcomer.
    @Test func `A member that accepted an addition installs it on the newcomer's report`() throws {
        var group = EngineGroup(paired: ["a", "b", "c"])
        try group.run(rounds: 2)
        group.cutOff("c")
        group.add("t", founds: false)
        group["b"].invite("t")
        for _ in 0..<12 where group["a"].view == 0 {
            for name in ["a", "b", "t"] { group[name].tick(at: group.now) }
            while group["a"].view == 0, try group.step() {}
            group.now += 1
        }
        try #require(group["a"].view == 1 && group["b"].view == 0)
        for name in ["a", "t"] { group.cut("b", name) }
        try group.run(rounds: 6, suspects: false)
        try #require(group["t"].view == 1 && group["b"].view == 0)
        group.mend()
        group.cutOff("a")
        group.cut("c", "t")
        try group.run(rounds: 12)
        #expect(group.members(of: "b").contains("t") && group.members(of: "c").contains("t"))
    }

    /// The members that decided are gone. The third one hears only the newcomer, which its user has also invited.
    @Test func `A member that invited a newcomer trusts its report that it was added`() throws {
        var group = EngineGroup(paired: ["a", "b", "c"])
        try group.run(rounds: 2)
        group.cutOff("c")
        group.add("t", founds: false)
        for name in ["a", "c"] { group[name].invite("t") }
        try group.run(rounds: 6, suspects: false)
        try #require(group["t"].view == 1)
        for name in ["a", "b"] { group.cutOff(name) }
        group.connect("c")
        try group.run(rounds: 12)
        #expect(group.members(of: "c").contains("t"))
    }

    @Test func `A group of sixteen admits no newcomer`() throws {
        let names = (1...16).map { "member \($0)" }
        var group = EngineGroup(paired: names)
        try group.run(rounds: 1)
        group.add("next", founds: false)
        group[names[0]].invite("next")
        try group.run(rounds: 6)
        #expect(group.views == [0])
        #expect(group.alarms[names[0]]?.contains { if case .notAdmitted = $0 { true } else { false } } == true)
    }
}

extension AdditionTests {
    private func ghosts(_ count: Int) -> [SessionSource] {
        (1...count).map { SessionSource(peerID: "ghost \($0)", incarnation: 9) }
    }

    /// A control in which the liar claims that the next view has additional members, the ghosts.
    private func claim(
        of group: inout EngineGroup, by liar: String, adding ghosts: [SessionSource]
    ) -> SessionSyncEnvelope<SessionControl> {
        var engine = group[liar]
        engine.tick(at: group.now)
        for case .control(var envelope, _) in engine.takeDirectives().outgoing {
            var membership = engine.membership
            let number = engine.view + 1
            membership.open += ghosts.map {
                .init(source: $0, floor: envelope.metadata.stamp, joined: number)
            }
            membership.open.sort { $0.source < $1.source }
            envelope.payload.members = membership.open.map(\.source)
            envelope.payload.view = ViewStatement(number: number)
            envelope.payload.record = SessionViewRecord(number: number, membership: membership)
            return envelope
        }
        preconditionFailure("a tick makes a control")
    }

    private func lie(
        to victims: [String], of group: inout EngineGroup, by liar: String, adding ghosts: [SessionSource]
    ) throws {
        let lie = claim(of: &group, by: liar, adding: ghosts)
        for name in victims { try group[name].receiveControl(lie, at: group.now) }
        try group.run(rounds: 1)
    }

    private func expectConfirms(_ group: inout EngineGroup, _ members: [String]) throws {
        try group.tap("phone", "after")
        try group.run(rounds: 3)
        for name in members {
            #expect(group.members(of: name) == members)
            #expect(group[name].state == ["after"])
        }
        for name in ["phone", "tablet"] { #expect(group.confirmed[name] == ["after"]) }
    }
}
