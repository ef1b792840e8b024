import Foundation
import MeshIdentity
import Testing

@testable import MeshEngine

/// Events that are issued again, under other names, where they are in the order already.
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

    @Test(.enabled(if: EngineMutations.areCompiledIn))
    func `Without its origin it stands in the order twice`() throws {
        let company = try twoGroups(mutations: [.originForgotten])
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

    @Test(.enabled(if: EngineMutations.areCompiledIn))
    func `Without the names that a copy tells it does`() throws {
        #expect(try lateAuthor(mutations: [.originForgotten])["cleo"].state.count { $0.hasPrefix("bert") } > 300)
    }

    /// Bert holds an event of anna's, who loses her store and founds another group with him, in which he issues it again. The
    /// first group has it too and has folded it; both meet.
    private func twoGroups(mutations: EngineMutations = []) throws -> EngineCompany {
        var company = EngineCompany()
        company.mutations = mutations
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

    /// Anna has seen what bert wrote before either joined, and joins first.
    private func lateAuthor(mutations: EngineMutations = []) throws -> EngineCompany {
        var company = EngineCompany()
        company.mutations = mutations
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
