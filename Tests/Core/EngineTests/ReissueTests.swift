import Foundation
import MeshBase
import MeshBrokenRules
import MeshIdentity
import Testing

@testable import MeshEngine

/// Events that are reissued under new names although they are in the order already.
@Suite struct ReissueTests {
    @Test func `An event that another group has under its first name comes back once, issued again or not`() throws {
        let company = try twoGroups()
        for name in company.names {
            #expect(company[name].state.count { $0 == "first" } == 1, "\(name) has \(company[name].state)")
            #expect(Set(company.members(of: name)) == ["anna", "bert", "cleo"])
        }
        #expect(company.states.count == 1)
        #expect(company["bert"].state.count { $0 == "of bert" } == 1)
    }

    @Test(.breaksRules, .breaks(.originForgotten))
    func `Without its origin it stands in the order twice`() throws {
        let company = try twoGroups()
        #expect(company["cleo"].state.count { $0 == "first" } == 2)
    }

    @Test func `A newcomer does not issue again what another one has, however much it is and however long ago`() throws
    {
        let company = try lateAuthor()
        for name in company.names {
            #expect(company[name].state.sorted() == Set(company[name].state).sorted(), "\(name)")
            #expect(company[name].state.count { $0.hasPrefix("bert") } == 300, "\(name)")
        }
        #expect(company.states.count == 1)
    }

    @Test(.breaksRules, .breaks(.originForgotten))
    func `Without the names that a copy tells it does`() throws {
        #expect(try lateAuthor()["cleo"].state.count { $0.hasPrefix("bert") } > 300)
    }

    private static let seeds: Range<UInt64> = 0..<16

    @Test(arguments: seeds)
    func `Events that two groups have issued again are in the order once`(seed: UInt64) throws {
        let doubled = try doubledEvents(seed: seed)
        #expect(doubled == [], "seed \(seed) of doubledEvents")
    }

    @Test(.breaksRules, .breaks(.originForgotten))
    func `Without origins the drawn schedules have events twice`() throws {
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
        var company = EngineCompany()
        var count = 0
        func tap(_ name: String, _ times: Int) throws {
            for _ in 0..<times {
                count += 1
                try company.tap(name, "\(name) \(count)")
            }
        }
        company.add(lost)
        company.add(left)
        try company.run(rounds: 4)
        company.add(third)
        for _ in 0..<1 + below(4) { try tap([lost, lost, left, third][below(4)], 1 + below(3)) }
        company.cutOff(third)
        for _ in 0..<8 {
            try tap(lost, 1 + below(8))
            try tap(left, 1 + below(8))
            try company.run(rounds: 1)
        }
        company.cutOff(left)
        company.connect(third)
        company.add(lost)
        try company.run(rounds: 14)
        try tap(lost, below(4))
        try tap(third, below(4))
        try company.run(rounds: 1 + below(4))
        for name in [lost, third] {
            company[name].invite(left)
            company[left].invite(name)
        }
        company.connect(left)
        try company.run(rounds: 40)
        return company.names.flatMap { name in
            Dictionary(grouping: company[name].state) { $0 }.filter { $0.value.count > 1 }.keys.map { "\(name): \($0)" }
        }.sorted()
    }

    /// Bert holds an event of anna. She loses her store and founds another group with him, in which he reissues the event. The
    /// first group has it too and has folded it. Then both groups meet.
    private func twoGroups() throws -> EngineCompany {
        var company = EngineCompany()
        company.add("anna")
        company.add("cleo")
        try company.run(rounds: 4)
        company.add("bert")
        try company.tap("anna", "first")
        #expect(company["bert"].held.entries.map(\.sequence) == [1])
        company.cutOff("bert")
        for number in 0..<70 {
            try company.tap("anna", "anna \(number)")
            try company.tap("cleo", "cleo \(number)")
            try company.run(rounds: 1)
        }
        #expect(company["cleo"].log.entries.allSatisfy { $0.sequence > 1 })
        company.cutOff("cleo")
        company.connect("bert")
        company.add("anna")
        try company.run(rounds: 20)
        #expect(company["bert"].state == ["first"])
        try company.tap("bert", "of bert")
        try company.run(rounds: 4)
        #expect(company["bert"].group == company["anna"].group && company["bert"].group != company["cleo"].group)
        company["cleo"].invite("bert")
        for name in ["anna", "bert"] { company[name].invite("cleo") }
        try company.relaunch("bert")
        company.connect("cleo")
        try company.run(rounds: 40)
        return company
    }

    /// Anna has seen the events that bert wrote before either joined, and joins first.
    private func lateAuthor() throws -> EngineCompany {
        var company = EngineCompany()
        company.add("cleo")
        company.add("dora")
        try company.run(rounds: 4)
        company.cutOff("cleo")
        company.cutOff("dora")
        company.add("anna", founds: false)
        company.add("bert", founds: false)
        for number in 0..<300 { try company.tap("bert", "bert \(number)") }
        #expect(company["anna"].state.count == 300)
        company.mend()
        company.cutOff("bert")
        for name in ["anna", "bert"] { company["cleo"].invite(name) }
        try company.run(rounds: 20)
        for number in 0..<70 { try company.tap("cleo", "cleo \(number)") }
        try company.run(rounds: 10)
        #expect(company["cleo"].state.count == 370)
        company.connect("bert")
        try company.run(rounds: 20)
        #expect(Set(company.members(of: "cleo")) == ["anna", "bert", "cleo", "dora"])
        return company
    }
}
