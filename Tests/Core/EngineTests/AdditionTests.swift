import Foundation
import MeshBrokenRules
import MeshIdentity
import Testing

@testable import MeshEngine

/// Additions of members: views that a member learns about from others only, and members that don't exist.
@Suite struct AdditionTests {
    /// Regression: a member adopted a control that named 30 members, and its group never confirmed anything again.
    @Test func `A control that adds more members than a group has room for is refused`() throws {
        var company = EngineCompany(paired: ["phone", "tablet", "watch"])
        try company.run(rounds: 2)
        let lie = claim(of: &company, by: "watch", adding: ghosts(30))
        for name in ["phone", "tablet"] {
            #expect(throws: SessionSyncError.outOfRange(field: "membership")) {
                try company[name].receiveControl(lie, at: company.now)
            }
        }
        try expectGoesOn(&company, ["phone", "tablet", "watch"])
    }

    @Test(arguments: [1, 13])
    func `A member that is connected to others doesn't follow one that adds members`(count: Int) throws {
        var company = EngineCompany(paired: ["phone", "tablet", "watch"])
        try company.run(rounds: 2)
        // Longer than a member waits before it follows a report that it can't contradict.
        for _ in 0..<100 { try lie(to: ["phone", "tablet"], of: &company, by: "watch", adding: ghosts(count)) }
        try expectGoesOn(&company, ["phone", "tablet", "watch"])
    }

    @Test(.breaksRules, .breaks(.additionOnHearsay))
    func `Without a majority's reports, members follow one that adds members`() throws {
        var company = EngineCompany()
        for name in ["phone", "watch"] { company.add(name) }
        try company.run(rounds: 4)
        company.add("tablet", founds: false)
        company["watch"].invite("tablet")
        try company.run(rounds: 12)
        try #require(company.members(of: "phone").count == 3)
        try lie(to: ["phone"], of: &company, by: "watch", adding: ghosts(1))
        #expect(company.members(of: "phone").count == 4, "the rule is broken, and nothing notices")
    }

    /// Regression: a member believed a third member's report of where another's events begin, and dropped those events.
    @Test(arguments: [SequenceBounds.hearsay, SequenceBounds.highest])
    func `A member's report doesn't void events of another member in reach`(first: UInt64) throws {
        var company = EngineCompany(paired: ["phone", "tablet", "watch"])
        try company.run(rounds: 2)
        let named = company["phone"].source
        var lie = claim(of: &company, by: "watch", adding: [])
        lie.payload.record?.number = company["tablet"].view
        lie.payload.record?.membership.first = [SourceSequence(source: named, sequence: first)]
        lie.payload.view = ViewStatement(number: company["tablet"].view)
        for _ in 0..<3 { try company["tablet"].receiveControl(lie, at: company.now) }
        #expect(company["tablet"].held[named] == 0)
        try expectGoesOn(&company, ["phone", "tablet", "watch"])
    }

    @Test func `A member that is connected to one other follows it`() throws {
        var company = EngineCompany(paired: ["phone", "tablet", "watch"])
        try company.run(rounds: 2)
        company.cut("phone", "tablet")
        company["watch"].invite("tv")
        company.add("tv", founds: false)
        company.cut("phone", "tv")
        try company.run(rounds: 12)
        #expect(company.members(of: "phone") == ["phone", "tablet", "tv", "watch"])
        #expect(company.members(of: "tablet") == ["phone", "tablet", "tv", "watch"])
    }

    /// Three members decide on a view. Two stop before they send it, so the other two learn about it from the third only.
    @Test func `A view that two of three deciders took with them is followed in the end`() throws {
        var company = EngineCompany(paired: ["a", "b", "c", "d", "e"])
        try company.run(rounds: 2)
        for one in ["a", "b"] { for other in ["c", "d", "e", "f"] { company.cut(one, other) } }
        company.add("f", founds: false)
        company["c"].invite("f")
        // Without suspicion the group closes no member.
        try company.run(rounds: 12, suspects: false)
        #expect(company.members(of: "c").contains("f") && !company.members(of: "a").contains("f"))
        company.mend()
        for name in ["d", "e"] { company.cutOff(name) }
        try company.run(rounds: 20, suspects: false)
        #expect(company.views == [0, 1])
        try company.run(rounds: 120, suspects: false)
        #expect(company.views == [1])
        for name in ["a", "b", "c", "f"] { #expect(company.members(of: name).contains("f")) }
    }

    /// A member can get nonexistent members added by a vote in which the other members take part.
    @Test func `Removing a member also closes members that only it has reported`() throws {
        var company = EngineCompany(paired: ["phone", "tablet", "watch"])
        try company.run(rounds: 2)
        for ghost in ghosts(20) { company["watch"].membershipIntent.newcomers[ghost] = 0 }
        try company.run(rounds: 12)
        #expect(company.members(of: "phone").count > 3)
        company.cutOff("watch")
        try company.tap("phone", "waits")
        try company.run(rounds: 20)
        #expect(company.confirmed["phone"] ?? [] == [], "a majority of the view is not here")
        for name in ["phone", "tablet"] { company[name].goOn(without: ["watch"]) }
        try company.run(rounds: 12)
        for name in ["phone", "tablet"] {
            #expect(company.members(of: name) == ["phone", "tablet"])
            #expect(company.confirmed[name] == ["waits"])
        }
    }

    /// One member hears only the liar and follows it. The next member follows the first.
    @Test(arguments: [["phone"], ["phone", "tablet"]])
    func `Removing a liar also closes the members that it made up`(users: [String]) throws {
        var company = EngineCompany(paired: ["phone", "tablet", "watch"])
        try company.run(rounds: 2)
        company.cut("phone", "tablet")
        try company.run(rounds: 2)
        try lie(to: ["phone"], of: &company, by: "watch", adding: ghosts(13))
        #expect(company.members(of: "phone").count == SessionMembership.openMax)
        company.mend()
        company.cutOff("watch")
        try company.run(rounds: 80)
        try company.tap("phone", "waits")
        for name in users { company[name].goOn(without: ["watch"]) }
        try company.run(rounds: 12)
        for name in ["phone", "tablet"] {
            #expect(company.members(of: name) == ["phone", "tablet"])
            #expect(company.confirmed[name] == ["waits"])
        }
    }

    @Test func `Removing a member keeps the members that it admitted`() throws {
        var company = EngineCompany(paired: ["phone", "tablet", "watch"])
        company.add("tv", founds: false)
        company["watch"].invite("tv")
        try company.run(rounds: 12)
        #expect(company.members(of: "phone").contains("tv"))
        company.cutOff("watch")
        for name in ["phone", "tablet", "tv"] { company[name].goOn(without: ["watch"]) }
        try company.run(rounds: 12)
        for name in ["phone", "tablet", "tv"] { #expect(company.members(of: name) == ["phone", "tablet", "tv"]) }
    }

    /// Two members decide. One stops, and the other has accepted the view without installing it, so the newcomer isn't a
    /// member in its view. The third member hasn't heard of the newcomer.
    @Test func `A member that accepted an addition installs it on the newcomer's report`() throws {
        var company = EngineCompany(paired: ["a", "b", "c"])
        try company.run(rounds: 2)
        company.cutOff("c")
        company.add("t", founds: false)
        company["b"].invite("t")
        for _ in 0..<12 where company["a"].view == 0 {
            for name in ["a", "b", "t"] { company[name].tick(at: company.now) }
            while company["a"].view == 0, try company.step() {}
            company.now += 1
        }
        try #require(company["a"].view == 1 && company["b"].view == 0)
        for name in ["a", "t"] { company.cut("b", name) }
        try company.run(rounds: 6, suspects: false)
        try #require(company["t"].view == 1 && company["b"].view == 0)
        company.mend()
        company.cutOff("a")
        company.cut("c", "t")
        try company.run(rounds: 12)
        #expect(company.members(of: "b").contains("t") && company.members(of: "c").contains("t"))
    }

    /// The members that decided are gone. The third one hears only the newcomer, which its user has also invited.
    @Test func `A member that invited a newcomer trusts its report that it was added`() throws {
        var company = EngineCompany(paired: ["a", "b", "c"])
        try company.run(rounds: 2)
        company.cutOff("c")
        company.add("t", founds: false)
        for name in ["a", "c"] { company[name].invite("t") }
        try company.run(rounds: 6, suspects: false)
        try #require(company["t"].view == 1)
        for name in ["a", "b"] { company.cutOff(name) }
        company.connect("c")
        try company.run(rounds: 12)
        #expect(company.members(of: "c").contains("t"))
    }

    @Test func `A group of sixteen admits no newcomer`() throws {
        let names = (1...16).map { "member \($0)" }
        var company = EngineCompany(paired: names)
        try company.run(rounds: 1)
        company.add("next", founds: false)
        company[names[0]].invite("next")
        try company.run(rounds: 6)
        #expect(company.views == [0])
        #expect(company.alarms[names[0]]?.contains { if case .notAdmitted = $0 { true } else { false } } == true)
    }
}

extension AdditionTests {
    private func ghosts(_ count: Int) -> [SessionSource] {
        (1...count).map { SessionSource(peerID: "ghost \($0)", incarnation: 9) }
    }

    /// A control in which the liar claims that the next view has additional members, the ghosts.
    private func claim(
        of company: inout EngineCompany, by liar: String, adding ghosts: [SessionSource]
    ) -> SessionSyncEnvelope<SessionControl> {
        var engine = company[liar]
        engine.tick(at: company.now)
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
        to victims: [String], of company: inout EngineCompany, by liar: String, adding ghosts: [SessionSource]
    ) throws {
        let lie = claim(of: &company, by: liar, adding: ghosts)
        for name in victims { try company[name].receiveControl(lie, at: company.now) }
        try company.run(rounds: 1)
    }

    private func expectGoesOn(_ company: inout EngineCompany, _ members: [String]) throws {
        try company.tap("phone", "after")
        try company.run(rounds: 3)
        for name in members {
            #expect(company.members(of: name) == members)
            #expect(company[name].state == ["after"])
        }
        for name in ["phone", "tablet"] { #expect(company.confirmed[name] == ["after"]) }
    }
}
