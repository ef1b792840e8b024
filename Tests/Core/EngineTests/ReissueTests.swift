import Foundation
import MeshBase
import MeshBrokenRules
import MeshIdentity
import Testing

@testable import MeshEngine

/// Events that are reissued under new names although they are in the order already.
@Suite struct ReissueTests {
    @Test func `An event that another group has under its first name returns once, reissued or not`() throws {
        let group = try twoGroups()
        for name in group.names {
            #expect(group[name].state.count { $0 == "first" } == 1, "\(name) has \(group[name].state)")
            #expect(Set(group.members(of: name)) == ["anna", "bert", "cleo"])
        }
        #expect(group.states.count == 1)
        #expect(group["bert"].state.count { $0 == "of bert" } == 1)
    }

    @Test(.breaksRules, .breaks(.originForgotten))
    func `Without its origin the event is in the order twice`() throws {
        let group = try twoGroups()
        #expect(group["cleo"].state.count { $0 == "first" } == 2)
    }

    @Test func `A newcomer reissues none of another member's events, however many and however old`() throws {
        let group = try lateAuthor()
        for name in group.names {
            #expect(group[name].state.sorted() == Set(group[name].state).sorted(), "\(name)")
            #expect(group[name].state.count { $0.hasPrefix("bert") } == 300, "\(name)")
        }
        #expect(group.states.count == 1)
    }

    @Test(.breaksRules, .breaks(.originForgotten))
    func `Without the names in a copy it reissues them`() throws {
        #expect(try lateAuthor()["cleo"].state.count { $0.hasPrefix("bert") } > 300)
    }

    private static let seeds: Range<UInt64> = 0..<16

    @Test(arguments: seeds)
    func `Events that two groups have reissued are in the order once`(seed: UInt64) throws {
        let doubled = try doubledEvents(seed: seed)
        #expect(doubled == [], "seed \(seed) of doubledEvents")
    }

    @Test(.breaksRules, .breaks(.originForgotten))
    func `Without origins, events appear twice in the drawn schedules`() throws {
        #expect(try Self.seeds.contains { try !doubledEvents(seed: $0).isEmpty })
    }

    /// Two peers found a group, and a third one hears some of it without joining. One founder loses its store and founds another
    /// group with the third, and both groups meet. The seed decides the roles, and how much each peer writes when.
    /// - Returns: the events that a peer shows twice in the end.
    private func doubledEvents(seed: UInt64) throws -> [String] {
        var random = SplitMix64(seed: seed)
        func below(_ limit: Int) -> Int { Int(random.next() % UInt64(limit)) }
        var names = ["anna", "bert", "cleo"]
        let lost = names.remove(at: below(3))
        let left = names.remove(at: below(2))
        let third = names[0]
        var group = EngineGroup()
        var count = 0
        func tap(_ name: String, _ times: Int) throws {
            for _ in 0..<times {
                count += 1
                try group.tap(name, "\(name) \(count)")
            }
        }
        group.add(lost)
        group.add(left)
        try group.run(rounds: 4)
        group.add(third)
        for _ in 0..<1 + below(4) { try tap([lost, lost, left, third][below(4)], 1 + below(3)) }
        group.cutOff(third)
        for _ in 0..<8 {
            try tap(lost, 1 + below(8))
            try tap(left, 1 + below(8))
            try group.run(rounds: 1)
        }
        group.cutOff(left)
        group.connect(third)
        group.add(lost)
        try group.run(rounds: 14)
        try tap(lost, below(4))
        try tap(third, below(4))
        try group.run(rounds: 1 + below(4))
        for name in [lost, third] {
            group[name].invite(left)
            group[left].invite(name)
        }
        group.connect(left)
        try group.run(rounds: 40)
        return group.names.flatMap { name in
            Dictionary(grouping: group[name].state) { $0 }.filter { $0.value.count > 1 }.keys.map { "\(name): \($0)" }
        }.sorted()
    }

    /// Bert holds an event of anna. She loses her store and founds another group with him, in which he reissues the event. The
    /// first group has it too and has folded it. Then both groups meet.
    private func twoGroups() throws -> EngineGroup {
        var group = EngineGroup()
        group.add("anna")
        group.add("cleo")
        try group.run(rounds: 4)
        group.add("bert")
        try group.tap("anna", "first")
        #expect(group["bert"].held.entries.map(\.sequence) == [1])
        group.cutOff("bert")
        for number in 0..<70 {
            try group.tap("anna", "anna \(number)")
            try group.tap("cleo", "cleo \(number)")
            try group.run(rounds: 1)
        }
        #expect(group["cleo"].log.entries.allSatisfy { $0.sequence > 1 })
        group.cutOff("cleo")
        group.connect("bert")
        group.add("anna")
        try group.run(rounds: 20)
        #expect(group["bert"].state == ["first"])
        try group.tap("bert", "of bert")
        try group.run(rounds: 4)
        #expect(group["bert"].group == group["anna"].group && group["bert"].group != group["cleo"].group)
        group["cleo"].invite("bert")
        for name in ["anna", "bert"] { group[name].invite("cleo") }
        try group.relaunch("bert")
        group.connect("cleo")
        try group.run(rounds: 40)
        return group
    }

    /// Anna has seen the events that bert wrote before either joined, and joins first.
    private func lateAuthor() throws -> EngineGroup {
        var group = EngineGroup()
        group.add("cleo")
        group.add("dora")
        try group.run(rounds: 4)
        group.cutOff("cleo")
        group.cutOff("dora")
        group.add("anna", founds: false)
        group.add("bert", founds: false)
        for number in 0..<300 { try group.tap("bert", "bert \(number)") }
        #expect(group["anna"].state.count == 300)
        group.mend()
        group.cutOff("bert")
        for name in ["anna", "bert"] { group["cleo"].invite(name) }
        try group.run(rounds: 20)
        for number in 0..<70 { try group.tap("cleo", "cleo \(number)") }
        try group.run(rounds: 10)
        #expect(group["cleo"].state.count == 370)
        group.connect("bert")
        try group.run(rounds: 20)
        #expect(Set(group.members(of: "cleo")) == ["anna", "bert", "cleo", "dora"])
        return group
    }
}
