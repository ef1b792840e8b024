import Foundation
import MeshIdentity
import Testing

@testable import MeshEngine

/// A device with a new identity that keeps the store of its former one.
@Suite struct IdentityTests {
    @Test(arguments: [2, 3])
    func `A device with a new identity rejoins without losing or doubling an event`(count: Int) throws {
        let names = ["phone", "watch", "tablet"].prefix(count)
        var group = EngineGroup(paired: Array(names))
        try group.run(rounds: 3)
        try group.tap("watch", "confirmed")
        try group.run(rounds: 3)
        try group.tap("watch", "heard")
        group.cutOff("watch")
        try group.tap("watch", "unheard")
        try group.tap("phone", "meanwhile")

        let source = SessionSource(peerID: "watch again", incarnation: 77)
        group["watch again"] = try group["watch"].renamed(to: source, seed: 7)
        #expect(group["watch again"].state == ["confirmed", "heard", "unheard"])
        for name in names where name != "watch" { group[name].invite("watch again") }
        if count == 2 { group["phone"].removeMembers(["watch"]) }
        try group.run(rounds: 60)
        for name in names where name != "watch" {
            #expect(group.members(of: name).contains("watch again"))
            #expect(!group.members(of: name).contains("watch"))
        }
        try group.tap("watch again", "after")
        try group.run(rounds: 5)
        #expect(group.states.count == 1)
        #expect(group["phone"].state.sorted() == ["after", "confirmed", "heard", "meanwhile", "unheard"])
        #expect(group.confirmed["phone"]?.count == 5)
    }
}
