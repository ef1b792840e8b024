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
        var group = EngineGroup(isOwn: true)
        let names = (0..<count).map { "device \($0)" }
        for name in names { group.add(name) }
        for name in names { try group.tap(name, "of \(name)") }
        try group.run(rounds: 80)
        for name in names {
            #expect(group.members(of: name).count == count)
            #expect(group[name].confirmedCount == count)
        }
        #expect(group.states.count == 1)
    }

    @Test func `A late device is admitted with the taps it made alone`() throws {
        var group = EngineGroup(isOwn: true)
        for name in ["phone", "watch"] { group.add(name) }
        try group.run(rounds: 4)
        try group.tap("phone", "start")
        group.add("tablet")
        try group.tap("tablet", "mine")
        try group.run(rounds: 12)
        for name in group.names {
            #expect(group.members(of: name) == ["phone", "tablet", "watch"])
            #expect(group[name].state.sorted() == ["mine", "start"])
        }
    }

    @Test func `Another user's device isn't admitted`() throws {
        var group = EngineGroup(isOwn: true)
        for name in ["phone", "watch"] { group.add(name) }
        try group.run(rounds: 4)
        group.isOwn = false
        for name in ["phone", "watch"] { group[name].setPeer("tablet", isOwnDevice: false) }
        group.add("tablet")
        try group.run(rounds: 12)
        #expect(group.members(of: "phone") == ["phone", "watch"])
    }

    @Test(arguments: ["a", "z"])
    func `Two groups that meet become one`(lowest: String) throws {
        var group = try twoGroups(["\(lowest)1", "\(lowest)2"], ["m1", "m2", "m3"])
        group.mend()
        try group.run(rounds: 30)
        for name in group.names {
            #expect(group.members(of: name).count == 5)
            #expect(group[name].state.sorted() == ["of m1", "of \(lowest)1"].sorted())
        }
    }

    /// The new incarnation started with a clock that was behind. Seed 261127193247001803 of `--setting company --own`.
    @Test func `A late control of a peer's earlier incarnation doesn't change its group`() {
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
        var group = try twoGroups(["a phone", "watch"], ["mac", "tablet"])
        group.mend()
        for name in ["mac", "tablet"] { group.cut("watch", name) }
        try group.run(rounds: 15)
        #expect(group.members(of: "a phone") == ["a phone", "watch"], "the other group hears one member of this one")
        try group.run(rounds: 60)
        for name in group.names {
            #expect(group.members(of: name).count == 4)
            #expect(group[name].state.sorted() == ["of a phone", "of mac"])
        }
    }

    @Test func `Two groups with one connected device each wait for their other members`() throws {
        var group = try twoGroups(["a1", "a2"], ["b1", "b2"])
        group.mend()
        for (one, other) in [("a1", "b2"), ("a2", "b1"), ("a2", "b2")] { group.cut(one, other) }
        try group.run(rounds: 100)
        #expect(group.members(of: "a1") == ["a1", "a2"] && group.members(of: "b1") == ["b1", "b2"])
        group.mend()
        try group.run(rounds: 30)
        #expect(group.states.count == 1 && group.views.count == 1)
    }

    /// Too few members are left of its group to admit it. Seed 261127174337001892 with five members.
    @Test func `A removed member joins another group when its own can't admit it`() throws {
        var group = EngineGroup(paired: ["a", "b", "c", "d", "e"], isOwn: true)
        try group.run(rounds: 2)
        group.cutOff("c")
        try group.run(rounds: 12)
        #expect(group.members(of: "a") == ["a", "b", "d", "e"])
        for name in ["d", "e"] { group.cutOff(name) }
        group.connect("c")
        for name in ["f", "g"] { for other in ["a", "b", "c"] { group.cut(name, other) } }
        for name in ["f", "g"] { group.add(name) }
        try group.run(rounds: 12)
        group.mend()
        for name in ["d", "e"] { group.cutOff(name) }
        for name in ["f", "g"] { for other in ["a", "b"] { group.cut(name, other) } }
        try group.run(rounds: 40)
        #expect(!group["c"].isSealed, "it waits for its own group")
        try group.run(rounds: 30)
        #expect(group.members(of: "c") == ["c", "f", "g"])
    }

    // MARK: - A device that lies

    @Test(arguments: [1, 14], [0, 1_000])
    func `A device that claims a larger group moves no member`(count: Int, view: UInt64) throws {
        var group = EngineGroup(paired: ["phone", "tablet", "watch"], isOwn: true)
        try group.run(rounds: 2)
        try lieOfAnotherGroup(of: "watch", with: count, view, &group)
        for name in ["phone", "tablet"] {
            #expect(group[name].group == group["watch"].group)
            #expect(group.alarms[name]?.contains { if case .fenced = $0 { true } else { false } } != true)
        }
    }

    @Test(.breaksRules, .breaks(.ownUncounted))
    func `Without counting devices, one device moves a group`() throws {
        var group = EngineGroup(isOwn: true)
        for name in ["phone", "tablet", "watch"] { group.add(name) }
        try group.run(rounds: 20)
        try #require(group.members(of: "phone").count == 3)
        try lieOfAnotherGroup(of: "watch", with: 1, 1_000, &group)
        #expect(
            group.alarms["phone"]?.contains(.fenced(view: 1_000)) == true, "the rule is broken without detection")
    }

    /// The device claims that the group has continued without its members.
    @Test(arguments: [["phone", "watch"], ["a", "b", "c", "d", "e"]])
    func `A device that was never a member fences no member`(members: [String]) throws {
        var group = EngineGroup(paired: members, isOwn: true)
        try group.run(rounds: 2)
        let tablet = SessionSource(peerID: "tablet", incarnation: 7)
        for name in members { group[name].setPeer("tablet", isOwnDevice: true) }
        for _ in 0..<10 {
            let lies = controls(of: group[members[0]], at: group.now) { envelope in
                (envelope.metadata.sourcePeerID, envelope.metadata.incarnation) = (tablet.peerID, tablet.incarnation)
                envelope.payload.members = [tablet]
                envelope.payload.view = ViewStatement(number: 5)
            }
            for name in members { for lie in lies { try group[name].receiveControl(lie, at: group.now) } }
            try group.run(rounds: 1)
        }
        for name in members {
            #expect(group.alarms[name]?.contains { if case .fenced = $0 { true } else { false } } != true)
        }
    }

    /// The user of two devices has continued without one of them.
    @Test func `A removed device moves no member to another group`() throws {
        var group = EngineGroup(paired: ["phone", "watch"], isOwn: true)
        try group.run(rounds: 2)
        group.cutOff("watch")
        group["phone"].removeMembers(["watch"])
        try group.run(rounds: 3)
        #expect(group.members(of: "phone") == ["phone"])
        let name = group["phone"].group
        for _ in 0..<40 {
            let lies = controls(of: group["watch"], at: group.now) { envelope in
                let another = SessionSource(peerID: "watch", incarnation: 77)
                envelope.metadata.incarnation = 77
                envelope.metadata.epoch = another.groupTag &+ 1_000
                (envelope.payload.group, envelope.payload.members) = (another, [another])
                envelope.payload.view = ViewStatement(number: 1_000)
            }
            group["phone"].setPeer("watch", isOwnDevice: true)
            for lie in lies { try group["phone"].receiveControl(lie, at: group.now) }
            try group.run(rounds: 1)
        }
        #expect(group["phone"].group == name)
    }

    /// The removed device sends claims about the group, under more incarnations than members remember.
    @Test func `A removed device adds no members`() throws {
        var group = EngineGroup(paired: ["phone", "tablet", "watch"], isOwn: true)
        try group.run(rounds: 2)
        let watch = group["watch"]
        group.cutOff("watch")
        try group.run(rounds: 12)
        #expect(group.members(of: "phone") == ["phone", "tablet"])
        group.cutOff("tablet")
        for incarnation in 200..<270 as Range<UInt32> {
            for greeting in controls(of: watch, at: group.now, { $0.metadata.incarnation = incarnation }) {
                group["phone"].setPeer("watch", isOwnDevice: true)
                try? group["phone"].receiveControl(greeting, at: group.now)
            }
        }
        #expect(group["phone"].wasMember("watch"))
        var liar = watch
        liar.tick(at: group.now)
        let view = group["phone"].view + 1
        for case .control(var envelope, _) in liar.takeDirectives().outgoing {
            var membership = group["phone"].membership
            let ghost = SessionSource(peerID: "ghost", incarnation: 9)
            membership.open.append(.init(source: ghost, floor: envelope.metadata.stamp, joined: view))
            membership.open.sort { $0.source < $1.source }
            envelope.metadata.incarnation = 77
            envelope.payload.members = membership.open.map(\.source)
            envelope.payload.view = ViewStatement(number: view)
            envelope.payload.record = SessionViewRecord(number: view, membership: membership)
            for _ in 0..<100 {
                group["phone"].setPeer("watch", isOwnDevice: true)
                try group["phone"].receiveControl(envelope, at: group.now)
                group["phone"].tick(at: group.now)
            }
        }
        #expect(group.members(of: "phone") == ["phone", "tablet"])
    }

    // MARK: - Bounds

    @Test func `A full group raises an alarm on the seventeenth device`() throws {
        var group = EngineGroup(paired: (1...16).map { "member \($0)" }, isOwn: true)
        try group.run(rounds: 1)
        group.add("next")
        try group.run(rounds: 3)
        #expect(group.alarms["next"]?.contains(.notAdmitted(group["next"].source)) == true)
        #expect(group.views == [0])
    }

    /// Members that find no space in the other group would have left theirs for nothing.
    @Test func `Groups that have more than sixteen members together stay apart`() throws {
        let sides = ["a", "b"].map { side in (1...9).map { "\(side)\($0)" } }
        var group = EngineGroup(isOwn: true)
        for name in sides.joined() { group.add(name) }
        for name in sides[0] { for other in sides[1] { group.cut(name, other) } }
        try group.run(rounds: 80)
        for name in group.names { try #require(group.members(of: name).count == 9) }
        group.mend()
        try group.run(rounds: 40)
        for name in group.names { #expect(group.members(of: name).count == 9) }
    }

    @Test func `An unpaired device is no longer admitted`() throws {
        var group = EngineGroup(paired: ["phone", "watch"], isOwn: true)
        try group.run(rounds: 2)
        group.add("tablet")
        try group.run(rounds: 1)
        for name in ["phone", "watch"] { group[name].setPeer("tablet", isOwnDevice: false) }
        group.isOwn = false
        #expect(group["phone"].membershipIntent.newcomers.isEmpty && group["phone"].ownPeerIDs == ["watch"])
        try group.run(rounds: 12)
        #expect(group.members(of: "phone") == ["phone", "watch"])
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
    private func twoGroups(_ one: [String], _ other: [String]) throws -> EngineGroup {
        var group = EngineGroup(isOwn: true)
        for name in one + other { group.add(name) }
        for name in one { for stranger in other { group.cut(name, stranger) } }
        for members in [one, other] { try group.tap(members[0], "of \(members[0])") }
        try group.run(rounds: 12)
        #expect(group.members(of: one[0]) == one.sorted() && group.members(of: other[0]) == other.sorted())
        return group
    }

    /// Claims to be in another group with nonexistent members, once a second for longer than any wait of a device.
    private func lieOfAnotherGroup(
        of liar: String, with count: Int, _ view: UInt64, _ group: inout EngineGroup
    ) throws {
        var engine = group[liar]
        for _ in 0..<100 {
            engine.tick(at: group.now)
            for case .control(var envelope, _) in engine.takeDirectives().outgoing {
                let claimed = SessionSource(peerID: "another", incarnation: 9)
                envelope.metadata.epoch = claimed.groupTag &+ UInt32(view)
                envelope.payload.group = claimed
                envelope.payload.members =
                    [engine.source]
                    + (0..<count).map { SessionSource(peerID: "a ghost \($0)", incarnation: 9) }
                envelope.payload.view = ViewStatement(number: view)
                for name in group.names where name != liar {
                    group[name].setPeer(liar, isOwnDevice: true)
                    try group[name].receiveControl(envelope, at: group.now)
                }
            }
            try group.run(rounds: 1)
        }
    }
}
