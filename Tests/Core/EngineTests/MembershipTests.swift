import Foundation
import MeshIdentity
import Testing

@testable import MeshEngine

@Suite struct MembershipTests {
    @Test("A third device is invited into a group of two")
    func join() throws {
        var group = EngineGroup()
        for name in ["phone", "watch"] { group.add(name) }
        try group.run(rounds: 4)
        try group.tap("phone", "start")
        group.add("tablet")
        try group.tap("tablet", "mine")
        try group.run(rounds: 3)
        #expect(group.members(of: "phone") == ["phone", "watch"])
        #expect(group.alarms["phone"]?.contains { if case .notAdmitted = $0 { true } else { false } } == true)

        group["watch"].invite("tablet")
        try group.run(rounds: 12)
        for name in group.names {
            #expect(group.members(of: name) == ["phone", "tablet", "watch"])
            #expect(group[name].state == ["start", "mine"])
            #expect(group[name].confirmedCount == 2)
        }
        #expect(group.confirmed["tablet"] == ["mine"] || group.confirmed["tablet"] == ["start", "mine"])
    }

    @Test("Two of three members continue, and the third returns with its taps")
    func fence() throws {
        var group = EngineGroup(paired: ["phone", "tablet", "watch"])
        try group.tap("watch", "before")
        try group.run(rounds: 3)
        group.cutOff("watch")
        try group.tap("watch", "alone 1")
        try group.tap("phone", "here")
        try group.run(rounds: 12)
        #expect(group.members(of: "phone") == ["phone", "tablet"])
        #expect(group.confirmed["phone"] == ["before", "here"])
        try group.tap("watch", "alone 2")
        try group.run(rounds: 12)
        #expect(group.confirmed["watch"] == ["before"])

        group.mend()
        try group.run(rounds: 20)
        #expect(group.states == [["before", "here", "alone 1", "alone 2"]])
        for name in group.names {
            #expect(group.members(of: name) == ["phone", "tablet", "watch"])
            #expect(group[name].confirmedCount == 4)
        }
        #expect(group.alarms["watch"]?.contains(.fenced(view: 1)) == true)
        #expect(group.confirmed["watch"]?.contains("alone 2") == true)
    }

    @Test("Removing a nonmember changes nothing")
    func removeUnknownMember() throws {
        var group = EngineGroup()
        for name in ["phone", "watch"] { group.add(name) }
        for _ in 0..<4 where group["phone"].group == nil { try group.run(rounds: 1) }
        group.cut("phone", "watch")
        try #require(group["phone"].group != nil && !group["phone"].isSealed)
        group["phone"].removeMembers(["nobody"])
        #expect(!group["phone"].isSealed && !group["phone"].isChangingView)
    }

    @Test("An absent author's events that one member holds reach all members")
    func relay() throws {
        var group = EngineGroup(paired: ["phone", "tablet", "watch"])
        try group.run(rounds: 2)
        group.cut("watch", "tablet")
        try group.tap("watch", "for the phone only")
        group.cutOff("watch")
        // Without suspicion no member is removed: only the relay makes the members equal.
        for _ in 0..<6 {
            try group.run(rounds: 1)
            for name in group.names { group[name].suspect([]) }
        }
        #expect(group["tablet"].state == ["for the phone only"])
        #expect(group["tablet"].held[group["watch"].source] == 1)
    }

    @Test("A member that returns without its store replaces its earlier incarnation")
    func lostStore() throws {
        var group = EngineGroup(paired: ["phone", "tablet", "watch"])
        try group.tap("watch", "before")
        try group.run(rounds: 3)
        group.add("watch")
        try group.tap("watch", "after")
        try group.run(rounds: 20)
        #expect(group.states == [["before", "after"]])
        for name in group.names {
            #expect(group[name].membership.open.count == 3)
            #expect(group[name].membership.closed.count == 1)
            #expect(group[name].confirmedCount == 2)
        }
    }

    @Test("In a group of two the user decides, and the other member returns")
    func removal() throws {
        var group = EngineGroup()
        for name in ["phone", "watch"] { group.add(name) }
        try group.run(rounds: 4)
        try group.tap("watch", "together")
        try group.run(rounds: 2)
        group.cutOff("watch")
        try group.tap("watch", "out")
        try group.tap("phone", "in")
        try group.run(rounds: 8)
        #expect(group.confirmed["phone"] == ["together"])
        group["phone"].removeMembers(["watch"])
        try group.run(rounds: 1)
        #expect(group.confirmed["phone"] == ["together", "in"])
        group.mend()
        try group.run(rounds: 16)
        #expect(group.states == [["together", "in", "out"]])
        #expect(group.members(of: "watch") == ["phone", "watch"])
        #expect(Set(group.names.map { group[$0].confirmedCount }) == [3])
    }

    @Test("Two members remove each other and become one group again")
    func bothRemoveTheOther() throws {
        var group = EngineGroup()
        for name in ["phone", "watch"] { group.add(name) }
        try group.run(rounds: 4)
        group.cutOff("watch")
        group["phone"].removeMembers(["watch"])
        group["watch"].removeMembers(["phone"])
        try group.tap("watch", "out")
        try group.tap("phone", "in")
        try group.run(rounds: 2)
        group.mend()
        try group.run(rounds: 20)
        #expect(group.states.count == 1)
        #expect(Set(group["phone"].state) == ["in", "out"])
        #expect(Set(group.names.map { group[$0].confirmedCount }) == [2])
    }

    @Test("A leaving member is removed once the others agree, and its events stay")
    func leave() throws {
        var group = EngineGroup(paired: ["phone", "tablet", "watch"])
        try group.run(rounds: 2)
        try group.tap("watch", "last words")
        group["watch"].leave()
        try group.run(rounds: 6)
        #expect(group.members(of: "phone") == ["phone", "tablet"])
        #expect(group.confirmed["phone"] == ["last words"])
    }

    @Test("A minority confirms nothing and removes no member")
    func minority() throws {
        var group = EngineGroup(paired: ["a", "b", "c", "d", "e"])
        try group.run(rounds: 2)
        for one in ["a", "b"] { for other in ["c", "d", "e"] { group.cut(one, other) } }
        try group.tap("a", "few")
        try group.tap("c", "many")
        try group.run(rounds: 20)
        #expect(group.members(of: "a").count == 5)
        #expect(group.confirmed["a"] ?? [] == [])
        #expect(!group["a"].isChangingView)
        #expect(group.members(of: "c") == ["c", "d", "e"])
        #expect(group.confirmed["c"] == ["many"])
        group.mend()
        try group.run(rounds: 30)
        #expect(group.states == [["many", "few"]])
        #expect(group.views.count == 1)
        for name in group.names { #expect(group[name].membership.open.count == 5) }
    }

    @Test("Promises and accepted proposals survive the process")
    func relaunch() throws {
        var group = EngineGroup(paired: ["phone", "tablet", "watch"])
        try group.run(rounds: 2)
        group.cutOff("watch")
        for _ in 0..<12 {
            try group.run(rounds: 1)
            for name in group.names { try group.relaunch(name) }
        }
        #expect(group.members(of: "phone") == ["phone", "tablet"])
    }

    @Test("Two members that lose their stores at once and meet each other first rejoin the group of five")
    func twoLostStores() throws {
        var group = EngineGroup(paired: ["a", "b", "c", "d", "e"])
        try group.tap("d", "before")
        try group.run(rounds: 3)
        for name in ["a", "b"] { group.add(name) }
        for one in ["a", "b"] { for other in ["c", "d", "e"] { group.cut(one, other) } }
        try group.run(rounds: 4)
        try group.tap("a", "of two")
        try group.run(rounds: 2)
        #expect(group["a"].isSealed)
        group.mend()
        // Unknown peers don't make a member leave, however many they claim to be.
        try group.run(rounds: 10)
        #expect(group.members(of: "a") == ["a", "b"])
        for one in ["a", "b"] { for other in ["c", "d", "e"] { group[one].invite(other) } }
        try group.run(rounds: 30)
        #expect(group.states == [["before", "of two"]])
        for name in group.names {
            #expect(group[name].membership.open.count == 5)
            #expect(group[name].confirmedCount == 2)
        }
    }

    @Test("Newcomers invited at once join the group and found none of their own")
    func manyNewcomers() throws {
        var group = EngineGroup()
        for name in ["phone", "watch"] { group.add(name) }
        try group.run(rounds: 4)
        for name in ["n1", "n2", "n3"] {
            group.add(name, founds: false)
            group["phone"].invite(name)
        }
        try group.tap("n2", "hello")
        try group.run(rounds: 30)
        for name in group.names {
            #expect(group[name].membership.open.count == 5)
            #expect(group[name].state == ["hello"])
        }
    }

    @Test("Newcomers are admitted although a silent member isn't suspected and earlier ballots have failed")
    func newcomersBesideSilentMember() throws {
        var group = EngineGroup(paired: ["a", "b", "c"])
        try group.run(rounds: 2)
        group.cutOff("b")
        for name in ["n1", "n2"] {
            group.add(name, founds: false)
            group["a"].invite(name)
            group.cut("c", name)
        }
        // The ballots of a fail, so it waits longer than c, which only ends ballots.
        group.cut("a", "c")
        let hasPrepared = try group.run(upTo: 200, suspects: false) {
            let intent = $0["a"].membershipIntent
            return intent.patience == MembershipIntent.patienceMax && intent.age == 0
        }
        #expect(hasPrepared)
        group.reconnect("a", "c")
        try group.run(rounds: 60, suspects: false)
        for name in ["a", "c"] { #expect(group.members(of: name) == ["a", "b", "c", "n1", "n2"]) }
        #expect(group["a"].view <= 4)
    }

    @Test("A view is decided although its proposer stops before announcing it")
    func lostProposer() throws {
        var group = EngineGroup(paired: ["a", "b", "c", "d", "e"])
        try group.run(rounds: 2)
        group.cutOff("e")
        try group.tap("b", "on")
        try group.run(rounds: 1)
        group.cutOff("a")
        try group.run(rounds: 40)
        #expect(group.members(of: "b") == ["b", "c", "d"])
        #expect(group.confirmed["b"] == ["on"])
    }
}
