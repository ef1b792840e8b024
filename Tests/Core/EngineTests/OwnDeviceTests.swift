import Foundation
import MeshBrokenRules
import MeshIdentity
import Testing

@testable import MeshEngine

/// Devices of one user. They invite each other by opening the same session.
@Suite struct OwnDeviceTests {
    /// Regression: without an invitation the third device showed all items, but its own edits never left it.
    @Test(arguments: [3, 5, 16])
    func `Devices that open a session at once are one group`(count: Int) throws {
        var company = EngineCompany(isOwn: true)
        let names = (0..<count).map { "device \($0)" }
        for name in names { company.add(name) }
        for name in names { try company.tap(name, "of \(name)") }
        try company.run(rounds: 80)
        for name in names {
            #expect(company.members(of: name).count == count)
            #expect(company[name].confirmedCount == count)
        }
        #expect(company.states.count == 1)
    }

    @Test func `A device that comes late is let in, and what it tapped alone counts`() throws {
        var company = EngineCompany(isOwn: true)
        for name in ["phone", "watch"] { company.add(name) }
        try company.run(rounds: 4)
        try company.tap("phone", "start")
        company.add("tablet")
        try company.tap("tablet", "mine")
        try company.run(rounds: 12)
        for name in company.names {
            #expect(company.members(of: name) == ["phone", "tablet", "watch"])
            #expect(company[name].state.sorted() == ["mine", "start"])
        }
    }

    @Test func `A device of another user is not let in`() throws {
        var company = EngineCompany(isOwn: true)
        for name in ["phone", "watch"] { company.add(name) }
        try company.run(rounds: 4)
        company.isOwn = false
        for name in ["phone", "watch"] { company[name].setPeer("tablet", isOwnDevice: false) }
        company.add("tablet")
        try company.run(rounds: 12)
        #expect(company.members(of: "phone") == ["phone", "watch"])
    }

    @Test(arguments: ["a", "z"])
    func `Two groups that meet become one`(lowest: String) throws {
        var company = try twoGroups(["\(lowest)1", "\(lowest)2"], ["m1", "m2", "m3"])
        company.mend()
        try company.run(rounds: 30)
        for name in company.names {
            #expect(company.members(of: name).count == 5)
            #expect(company[name].state.sorted() == ["of m1", "of \(lowest)1"].sorted())
        }
    }

    /// The new incarnation started with a clock that was behind. Seed 261127193247001803 of `--setting company --own`.
    @Test func `A late control of a peer's earlier life says nothing of its group`() {
        var groups = PeerGroups()
        let (former, present) = (SessionSource(peerID: "a", incarnation: 1), SessionSource(peerID: "a", incarnation: 2))
        var control = SessionControl()
        control.group = former
        groups.record(control, of: former, isMember: false, at: HybridTimestamp(milliseconds: 20_000), silence: 0)
        control.group = present
        groups.record(control, of: present, isMember: true, at: HybridTimestamp(milliseconds: 1_000), silence: 0)
        #expect(groups["a"]?.group == present)
        control.group = former
        groups.record(control, of: former, isMember: false, at: HybridTimestamp(milliseconds: 30_000), silence: 0)
        #expect(groups["a"]?.group == present)
    }

    /// Only the phone is connected to both devices of the other group. By rank, its group would continue.
    @Test func `Two groups that one device connects become one`() throws {
        var company = try twoGroups(["a phone", "watch"], ["mac", "tablet"])
        company.mend()
        for name in ["mac", "tablet"] { company.cut("watch", name) }
        try company.run(rounds: 15)
        #expect(company.members(of: "a phone") == ["a phone", "watch"], "the other group hears one member of this one")
        try company.run(rounds: 60)
        for name in company.names {
            #expect(company.members(of: name).count == 4)
            #expect(company[name].state.sorted() == ["of a phone", "of mac"])
        }
    }

    @Test func `Two groups of which one device each is connected wait for the others`() throws {
        var company = try twoGroups(["a1", "a2"], ["b1", "b2"])
        company.mend()
        for (one, other) in [("a1", "b2"), ("a2", "b1"), ("a2", "b2")] { company.cut(one, other) }
        try company.run(rounds: 100)
        #expect(company.members(of: "a1") == ["a1", "a2"] && company.members(of: "b1") == ["b1", "b2"])
        company.mend()
        try company.run(rounds: 30)
        #expect(company.states.count == 1 && company.views.count == 1)
    }

    /// Too few members are left of its group to admit it. Seed 261127174337001892 with five members.
    @Test func `A removed member joins another group when its own can't admit it`() throws {
        var company = EngineCompany(paired: ["a", "b", "c", "d", "e"], isOwn: true)
        try company.run(rounds: 2)
        company.cutOff("c")
        try company.run(rounds: 12)
        #expect(company.members(of: "a") == ["a", "b", "d", "e"])
        for name in ["d", "e"] { company.cutOff(name) }
        company.connect("c")
        for name in ["f", "g"] { for other in ["a", "b", "c"] { company.cut(name, other) } }
        for name in ["f", "g"] { company.add(name) }
        try company.run(rounds: 12)
        company.mend()
        for name in ["d", "e"] { company.cutOff(name) }
        for name in ["f", "g"] { for other in ["a", "b"] { company.cut(name, other) } }
        try company.run(rounds: 40)
        #expect(!company["c"].isSealed, "it waits for its own group")
        try company.run(rounds: 30)
        #expect(company.members(of: "c") == ["c", "f", "g"])
    }

    // MARK: - A device that lies

    @Test(arguments: [1, 14], [0, 1_000])
    func `A device that claims a larger group moves no member`(count: Int, view: UInt64) throws {
        var company = EngineCompany(paired: ["phone", "tablet", "watch"], isOwn: true)
        try company.run(rounds: 2)
        try lieOfAnotherGroup(of: "watch", with: count, view, &company)
        for name in ["phone", "tablet"] {
            #expect(company[name].group == company["watch"].group)
            #expect(company.alarms[name]?.contains { if case .fenced = $0 { true } else { false } } != true)
        }
    }

    @Test(.breaksRules, .breaks(.ownUncounted))
    func `Without counting devices, one device moves a group`() throws {
        var company = EngineCompany(isOwn: true)
        for name in ["phone", "tablet", "watch"] { company.add(name) }
        try company.run(rounds: 20)
        try #require(company.members(of: "phone").count == 3)
        try lieOfAnotherGroup(of: "watch", with: 1, 1_000, &company)
        #expect(
            company.alarms["phone"]?.contains(.fenced(view: 1_000)) == true, "the rule is broken, and nothing notices")
    }

    /// The device claims that the group has continued without its members.
    @Test(arguments: [["phone", "watch"], ["a", "b", "c", "d", "e"]])
    func `A device that was never a member fences no member`(members: [String]) throws {
        var company = EngineCompany(paired: members, isOwn: true)
        try company.run(rounds: 2)
        let tablet = SessionSource(peerID: "tablet", incarnation: 7)
        for name in members { company[name].setPeer("tablet", isOwnDevice: true) }
        for _ in 0..<10 {
            let lies = controls(of: company[members[0]], at: company.now) { envelope in
                (envelope.metadata.sourcePeerID, envelope.metadata.incarnation) = (tablet.peerID, tablet.incarnation)
                envelope.payload.members = [tablet]
                envelope.payload.view = ViewStatement(number: 5)
            }
            for name in members { for lie in lies { try company[name].receiveControl(lie, at: company.now) } }
            try company.run(rounds: 1)
        }
        for name in members {
            #expect(company.alarms[name]?.contains { if case .fenced = $0 { true } else { false } } != true)
        }
    }

    /// The user of two devices has continued without one of them.
    @Test func `A removed device moves no member to another group`() throws {
        var company = EngineCompany(paired: ["phone", "watch"], isOwn: true)
        try company.run(rounds: 2)
        company.cutOff("watch")
        company["phone"].goOn(without: ["watch"])
        try company.run(rounds: 3)
        #expect(company.members(of: "phone") == ["phone"])
        let group = company["phone"].group
        for _ in 0..<40 {
            let lies = controls(of: company["watch"], at: company.now) { envelope in
                let another = SessionSource(peerID: "watch", incarnation: 77)
                envelope.metadata.incarnation = 77
                envelope.metadata.epoch = another.groupTag &+ 1_000
                (envelope.payload.group, envelope.payload.members) = (another, [another])
                envelope.payload.view = ViewStatement(number: 1_000)
            }
            company["phone"].setPeer("watch", isOwnDevice: true)
            for lie in lies { try company["phone"].receiveControl(lie, at: company.now) }
            try company.run(rounds: 1)
        }
        #expect(company["phone"].group == group)
    }

    /// The removed device sends claims about the group, under more incarnations than members remember.
    @Test func `A removed device adds no members`() throws {
        var company = EngineCompany(paired: ["phone", "tablet", "watch"], isOwn: true)
        try company.run(rounds: 2)
        let watch = company["watch"]
        company.cutOff("watch")
        try company.run(rounds: 12)
        #expect(company.members(of: "phone") == ["phone", "tablet"])
        company.cutOff("tablet")
        for life in 200..<270 as Range<UInt32> {
            for greeting in controls(of: watch, at: company.now, { $0.metadata.incarnation = life }) {
                company["phone"].setPeer("watch", isOwnDevice: true)
                try? company["phone"].receiveControl(greeting, at: company.now)
            }
        }
        #expect(company["phone"].wasMember("watch"))
        var liar = watch
        liar.tick(at: company.now)
        let view = company["phone"].view + 1
        for case .control(var envelope, _) in liar.takeDirectives().outgoing {
            var membership = company["phone"].membership
            let ghost = SessionSource(peerID: "ghost", incarnation: 9)
            membership.open.append(.init(source: ghost, floor: envelope.metadata.stamp, joined: view))
            membership.open.sort { $0.source < $1.source }
            envelope.metadata.incarnation = 77
            envelope.payload.members = membership.open.map(\.source)
            envelope.payload.view = ViewStatement(number: view)
            envelope.payload.record = SessionViewRecord(number: view, membership: membership)
            for _ in 0..<100 {
                company["phone"].setPeer("watch", isOwnDevice: true)
                try company["phone"].receiveControl(envelope, at: company.now)
                company["phone"].tick(at: company.now)
            }
        }
        #expect(company.members(of: "phone") == ["phone", "tablet"])
    }

    // MARK: - Bounds

    @Test func `A full group raises an alarm on the seventeenth device`() throws {
        var company = EngineCompany(paired: (1...16).map { "member \($0)" }, isOwn: true)
        try company.run(rounds: 1)
        company.add("next")
        try company.run(rounds: 3)
        #expect(company.alarms["next"]?.contains(.notAdmitted(company["next"].source)) == true)
        #expect(company.views == [0])
    }

    /// Members that find no space in the other group would have left theirs for nothing.
    @Test func `Groups that have more than sixteen members together stay apart`() throws {
        let sides = ["a", "b"].map { side in (1...9).map { "\(side)\($0)" } }
        var company = EngineCompany(isOwn: true)
        for name in sides.joined() { company.add(name) }
        for name in sides[0] { for other in sides[1] { company.cut(name, other) } }
        try company.run(rounds: 80)
        for name in company.names { try #require(company.members(of: name).count == 9) }
        company.mend()
        try company.run(rounds: 40)
        for name in company.names { #expect(company.members(of: name).count == 9) }
    }

    @Test func `A device that is unpaired is not let in any more`() throws {
        var company = EngineCompany(paired: ["phone", "watch"], isOwn: true)
        try company.run(rounds: 2)
        company.add("tablet")
        try company.run(rounds: 1)
        for name in ["phone", "watch"] { company[name].setPeer("tablet", isOwnDevice: false) }
        company.isOwn = false
        #expect(company["phone"].membershipIntent.newcomers.isEmpty && company["phone"].ownPeerIDs == ["watch"])
        try company.run(rounds: 12)
        #expect(company.members(of: "phone") == ["phone", "watch"])
    }

    @Test func `At most 64 devices are remembered as own`() {
        var engine = makeEngine("phone")
        for number in 0..<100 { engine.setPeer("device \(number)", isOwnDevice: true) }
        #expect(engine.membershipIntent.own.count == 64)
        engine.setPeer("device 0", isOwnDevice: false)
        #expect(engine.membershipIntent.own.count == 63)
    }
}

extension OwnDeviceTests {
    /// The controls that an engine would send, after a change.
    private func controls(
        of engine: ListEngine, at now: Date, _ change: (inout SessionSyncEnvelope<SessionControl>) -> Void
    ) -> [SessionSyncEnvelope<SessionControl>] {
        var engine = engine
        engine.tick(at: now)
        return engine.takeDirectives().outgoing.compactMap { message in
            guard case .control(var envelope, _) = message else { return nil }
            change(&envelope)
            return envelope
        }
    }

    /// Two groups that were founded while they were disconnected.
    private func twoGroups(_ one: [String], _ other: [String]) throws -> EngineCompany {
        var company = EngineCompany(isOwn: true)
        for name in one + other { company.add(name) }
        for name in one { for stranger in other { company.cut(name, stranger) } }
        for group in [one, other] { try company.tap(group[0], "of \(group[0])") }
        try company.run(rounds: 12)
        #expect(company.members(of: one[0]) == one.sorted() && company.members(of: other[0]) == other.sorted())
        return company
    }

    /// Claims to be in another group with nonexistent members, once a second for longer than any wait of a device.
    private func lieOfAnotherGroup(
        of liar: String, with count: Int, _ view: UInt64, _ company: inout EngineCompany
    ) throws {
        var engine = company[liar]
        for _ in 0..<100 {
            engine.tick(at: company.now)
            for case .control(var envelope, _) in engine.takeDirectives().outgoing {
                let group = SessionSource(peerID: "another", incarnation: 9)
                envelope.metadata.epoch = group.groupTag &+ UInt32(view)
                envelope.payload.group = group
                envelope.payload.members =
                    [engine.source]
                    + (0..<count).map { SessionSource(peerID: "a ghost \($0)", incarnation: 9) }
                envelope.payload.view = ViewStatement(number: view)
                for name in company.names where name != liar {
                    company[name].setPeer(liar, isOwnDevice: true)
                    try company[name].receiveControl(envelope, at: company.now)
                }
            }
            try company.run(rounds: 1)
        }
    }
}
