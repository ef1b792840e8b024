import Foundation
import MeshIdentity
import Testing

@testable import MeshEngine

/// A device with a new identity that keeps the store of its former one.
@Suite struct IdentityTests {
    @Test(arguments: [2, 3])
    func `A device under a new identity joins again, and loses and doubles no event`(count: Int) throws {
        let names = ["phone", "watch", "tablet"].prefix(count)
        var company = EngineCompany(paired: Array(names))
        try company.run(rounds: 3)
        try company.tap("watch", "confirmed")
        try company.run(rounds: 3)
        try company.tap("watch", "heard")
        company.cutOff("watch")
        try company.tap("watch", "unheard")
        try company.tap("phone", "meanwhile")

        let source = SessionSource(peerID: "watch again", incarnation: 77)
        company["watch again"] = try company["watch"].renamed(to: source, seed: 7)
        #expect(company["watch again"].state == ["confirmed", "heard", "unheard"])
        for name in names where name != "watch" { company[name].invite("watch again") }
        if count == 2 { company["phone"].goOn(without: ["watch"]) }
        try company.run(rounds: 60)
        for name in names where name != "watch" {
            #expect(company.members(of: name).contains("watch again"))
            #expect(!company.members(of: name).contains("watch"))
        }
        try company.tap("watch again", "after")
        try company.run(rounds: 5)
        #expect(company.states.count == 1)
        #expect(company["phone"].state.sorted() == ["after", "confirmed", "heard", "meanwhile", "unheard"])
        #expect(company.confirmed["phone"]?.count == 5)
    }
}
