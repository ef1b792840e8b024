import Foundation
import MeshIdentity
import Testing

@testable import MeshEngine

@Suite struct CompanyTests {
    @Test("A third device is invited into a group of two")
    func join() throws {
        var company = EngineCompany()
        for name in ["phone", "watch"] { company.add(name) }
        try company.run(rounds: 4)
        try company.tap("phone", "start")
        company.add("tablet")
        try company.tap("tablet", "mine")
        try company.run(rounds: 3)
        #expect(company.members(of: "phone") == ["phone", "watch"])
        #expect(company.alarms["phone"]?.contains { if case .notAdmitted = $0 { true } else { false } } == true)

        company["watch"].invite("tablet")
        try company.run(rounds: 12)
        for name in company.names {
            #expect(company.members(of: name) == ["phone", "tablet", "watch"])
            #expect(company[name].state == ["start", "mine"])
            #expect(company[name].confirmedCount == 2)
        }
        #expect(company.confirmed["tablet"] == ["mine"] || company.confirmed["tablet"] == ["start", "mine"])
    }

    @Test("Of three the two that are here go on, and the third comes back with what it tapped")
    func fence() throws {
        var company = EngineCompany(paired: ["phone", "tablet", "watch"])
        try company.tap("watch", "before")
        try company.run(rounds: 3)
        company.cutOff("watch")
        try company.tap("watch", "alone 1")
        try company.tap("phone", "here")
        try company.run(rounds: 12)
        #expect(company.members(of: "phone") == ["phone", "tablet"])
        #expect(company.confirmed["phone"] == ["before", "here"])
        try company.tap("watch", "alone 2")
        try company.run(rounds: 12)
        #expect(company.confirmed["watch"] == ["before"])

        company.mend()
        try company.run(rounds: 20)
        #expect(company.states == [["before", "here", "alone 1", "alone 2"]])
        for name in company.names {
            #expect(company.members(of: name) == ["phone", "tablet", "watch"])
            #expect(company[name].confirmedCount == 4)
        }
        #expect(company.alarms["watch"]?.contains(.fenced(view: 1)) == true)
        #expect(company.confirmed["watch"]?.contains("alone 2") == true)
    }

    @Test("Removing a nonmember changes nothing")
    func goOnWithoutNobody() throws {
        var company = EngineCompany()
        for name in ["phone", "watch"] { company.add(name) }
        for _ in 0..<4 where company["phone"].group == nil { try company.run(rounds: 1) }
        company.cut("phone", "watch")
        try #require(company["phone"].group != nil && !company["phone"].isSealed)
        company["phone"].goOn(without: ["nobody"])
        #expect(!company["phone"].isSealed && !company["phone"].isChangingView)
    }

    @Test("Events that one member has of an absent author reach all members")
    func relay() throws {
        var company = EngineCompany(paired: ["phone", "tablet", "watch"])
        try company.run(rounds: 2)
        company.cut("watch", "tablet")
        try company.tap("watch", "for the phone only")
        company.cutOff("watch")
        // Without suspicion no member is removed: only the relay makes the members equal.
        for _ in 0..<6 {
            try company.run(rounds: 1)
            for name in company.names { company[name].suspect([]) }
        }
        #expect(company["tablet"].state == ["for the phone only"])
        #expect(company["tablet"].held[company["watch"].source] == 1)
    }

    @Test("One that comes back without its store takes the place of its earlier life")
    func lostStore() throws {
        var company = EngineCompany(paired: ["phone", "tablet", "watch"])
        try company.tap("watch", "before")
        try company.run(rounds: 3)
        company.add("watch")
        try company.tap("watch", "after")
        try company.run(rounds: 20)
        #expect(company.states == [["before", "after"]])
        for name in company.names {
            #expect(company[name].membership.open.count == 3)
            #expect(company[name].membership.closed.count == 1)
            #expect(company[name].confirmedCount == 2)
        }
    }

    @Test("Of two the user decides, and the other comes back")
    func goOn() throws {
        var company = EngineCompany()
        for name in ["phone", "watch"] { company.add(name) }
        try company.run(rounds: 4)
        try company.tap("watch", "together")
        try company.run(rounds: 2)
        company.cutOff("watch")
        try company.tap("watch", "out")
        try company.tap("phone", "in")
        try company.run(rounds: 8)
        #expect(company.confirmed["phone"] == ["together"])
        company["phone"].goOn(without: ["watch"])
        try company.run(rounds: 1)
        #expect(company.confirmed["phone"] == ["together", "in"])
        company.mend()
        try company.run(rounds: 16)
        #expect(company.states == [["together", "in", "out"]])
        #expect(company.members(of: "watch") == ["phone", "watch"])
        #expect(Set(company.names.map { company[$0].confirmedCount }) == [3])
    }

    @Test("Both go on without each other, and become one again")
    func bothGoOn() throws {
        var company = EngineCompany()
        for name in ["phone", "watch"] { company.add(name) }
        try company.run(rounds: 4)
        company.cutOff("watch")
        company["phone"].goOn(without: ["watch"])
        company["watch"].goOn(without: ["phone"])
        try company.tap("watch", "out")
        try company.tap("phone", "in")
        try company.run(rounds: 2)
        company.mend()
        try company.run(rounds: 20)
        #expect(company.states.count == 1)
        #expect(Set(company["phone"].state) == ["in", "out"])
        #expect(Set(company.names.map { company[$0].confirmedCount }) == [2])
    }

    @Test("Who leaves is gone when the others have agreed, and what it wrote stays")
    func leave() throws {
        var company = EngineCompany(paired: ["phone", "tablet", "watch"])
        try company.run(rounds: 2)
        try company.tap("watch", "last words")
        company["watch"].leave()
        try company.run(rounds: 6)
        #expect(company.members(of: "phone") == ["phone", "tablet"])
        #expect(company.confirmed["phone"] == ["last words"])
    }

    @Test("A minority confirms nothing and removes no member")
    func minority() throws {
        var company = EngineCompany(paired: ["a", "b", "c", "d", "e"])
        try company.run(rounds: 2)
        for one in ["a", "b"] { for other in ["c", "d", "e"] { company.cut(one, other) } }
        try company.tap("a", "few")
        try company.tap("c", "many")
        try company.run(rounds: 20)
        #expect(company.members(of: "a").count == 5)
        #expect(company.confirmed["a"] ?? [] == [])
        #expect(!company["a"].isChangingView)
        #expect(company.members(of: "c") == ["c", "d", "e"])
        #expect(company.confirmed["c"] == ["many"])
        company.mend()
        try company.run(rounds: 30)
        #expect(company.states == [["many", "few"]])
        #expect(company.views.count == 1)
        for name in company.names { #expect(company[name].membership.open.count == 5) }
    }

    @Test("What was promised and accepted outlives the process")
    func relaunch() throws {
        var company = EngineCompany(paired: ["phone", "tablet", "watch"])
        try company.run(rounds: 2)
        company.cutOff("watch")
        for _ in 0..<12 {
            try company.run(rounds: 1)
            for name in company.names { try company.relaunch(name) }
        }
        #expect(company.members(of: "phone") == ["phone", "tablet"])
    }

    @Test("Two that lose their stores at once, and find each other first, come back into the group of five")
    func twoLostStores() throws {
        var company = EngineCompany(paired: ["a", "b", "c", "d", "e"])
        try company.tap("d", "before")
        try company.run(rounds: 3)
        for name in ["a", "b"] { company.add(name) }
        for one in ["a", "b"] { for other in ["c", "d", "e"] { company.cut(one, other) } }
        try company.run(rounds: 4)
        try company.tap("a", "of two")
        try company.run(rounds: 2)
        #expect(company["a"].isSealed)
        company.mend()
        // Unknown peers don't make a member leave, however many they claim to be.
        try company.run(rounds: 10)
        #expect(company.members(of: "a") == ["a", "b"])
        for one in ["a", "b"] { for other in ["c", "d", "e"] { company[one].invite(other) } }
        try company.run(rounds: 30)
        #expect(company.states == [["before", "of two"]])
        for name in company.names {
            #expect(company[name].membership.open.count == 5)
            #expect(company[name].confirmedCount == 2)
        }
    }

    @Test("Newcomers that are invited at once are taken in by the group, and found none of their own")
    func manyNewcomers() throws {
        var company = EngineCompany()
        for name in ["phone", "watch"] { company.add(name) }
        try company.run(rounds: 4)
        for name in ["n1", "n2", "n3"] {
            company.add(name, founds: false)
            company["phone"].invite(name)
        }
        try company.tap("n2", "hello")
        try company.run(rounds: 30)
        for name in company.names {
            #expect(company[name].membership.open.count == 5)
            #expect(company[name].state == ["hello"])
        }
    }

    @Test("A view is decided although its proposer stops before announcing it")
    func lostProposer() throws {
        var company = EngineCompany(paired: ["a", "b", "c", "d", "e"])
        try company.run(rounds: 2)
        company.cutOff("e")
        try company.tap("b", "on")
        try company.run(rounds: 1)
        company.cutOff("a")
        try company.run(rounds: 40)
        #expect(company.members(of: "b") == ["b", "c", "d"])
        #expect(company.confirmed["b"] == ["on"])
    }
}
