import Foundation
import MeshBrokenRules
import MeshIdentity
import Testing

@testable import MeshEngine

/// Schedules for rules that the random searches can break unnoticed. With its rule, each schedule ends with all members in
/// agreement. Without the rule, the same check fails.
@Suite struct ScheduleTests {
    // MARK: - Acknowledgements from a later view (rule 18)

    @Test func `Acknowledgements from a later view confirm nothing in an earlier one`() throws {
        let group = try newcomerTapsFirst()
        #expect(group.breaches(of: ["first", "second"]) == [])
        #expect(group["eric"].state == ["first", "second"])
    }

    @Test(.breaksRules, .breaks(.newerViewCounts))
    func `A member would confirm without the newcomer, if a later view counted`() throws {
        let group = try newcomerTapsFirst()
        #expect(group.breaches(of: ["first", "second"]).contains(.lost("first", by: "eric")))
        #expect(group.confirmed["eric"] == ["second"])
    }

    /// Anna, bert and cleo add finn, who taps before cleo does. Eric gets cleo's tap and all acknowledgements of it before he
    /// learns of finn.
    private func newcomerTapsFirst() throws -> EngineGroup {
        var group = EngineGroup(paired: ["anna", "bert", "cleo", "dora", "eric"])
        try group.run(rounds: 2)
        for one in ["anna", "bert", "cleo", "finn"] { for other in ["dora", "eric"] { group.cut(one, other) } }
        group.add("finn", founds: false)
        group["anna"].invite("finn")
        try group.run(rounds: 8, suspects: false)
        try #require(group["cleo"].view == 1 && group["finn"].view == 1 && group["eric"].view == 0)
        for other in ["anna", "bert", "cleo"] { group.hold("finn", to: other) }
        try group.tap("finn", "first")
        for other in ["dora", "eric"] { group.reconnect("cleo", other) }
        try group.tap("cleo", "second")
        // The tap carries cleo's promise. Her control would be the third report of the new view, and eric would install it.
        for other in ["dora", "eric"] { group.cut("cleo", other) }
        for name in ["anna", "bert"] { group.reconnect(name, "eric") }
        for name in ["anna", "bert", "dora", "eric"] { try group.speak(name) }
        try #require(group["eric"].view == 0 && group["eric"].state == ["second"])
        group.mend()
        for other in ["anna", "bert", "cleo"] { try group.release("finn", to: other) }
        try group.run(rounds: 30)
        return group
    }

    // MARK: - Earlier votes (rule 17)

    private static let threeTaps = ["of anna", "of bert", "of cleo"]

    @Test func `A proposer repeats a view that may have been decided`() throws {
        let group = try voteIsLost()
        #expect(group.breaches(of: Self.threeTaps) == [])
        #expect(group.alarms["bert"] == [], "Bert installed the view that was decided first.")
    }

    @Test(.breaksRules, .breaks(.forgetsAccepted))
    func `Two views would have one number if a proposer forgot accepted proposals`() throws {
        let group = try voteIsLost()
        let breaches = group.breaches(of: Self.threeTaps)
        #expect(breaches.isSuperset(of: [.lost("of bert", by: "anna"), .lost("of anna", by: "bert")]))
        #expect(group.members(of: "anna") == ["anna", "cleo"] && group.members(of: "bert") == ["anna", "bert"])
        #expect(group.views == [1])
    }

    /// Anna and bert close cleo. Bert decides, and anna doesn't get his vote. Cleo returns and wants to close bert.
    private func voteIsLost() throws -> EngineGroup {
        var group = EngineGroup(paired: ["anna", "bert", "cleo"])
        try group.run(rounds: 2)
        group.cutOff("cleo")
        try #require(try group.run(upTo: 8) { $0["bert"].view == 1 })
        group.cutOff("bert")
        group.connect("cleo")
        // Cleo would vote for the view if she heard of it before she starts her own ballot.
        group.hold("anna", to: "cleo")
        for name in ["anna", "bert", "cleo"] { try group.tap(name, "of \(name)") }
        try group.run(rounds: 5)
        try #require(group["anna"].view == 0 && group["anna"].stance.change?.ballot.proposer.peerID == "cleo")
        try group.release("anna", to: "cleo")
        try group.run(rounds: 3)
        group.mend()
        try group.run(rounds: 40)
        return group
    }

    // MARK: - Relays by a member that is to be closed (rule 17)

    @Test func `A relay by a member that is to be closed changes nothing`() throws {
        let group = try relayFollowsVote()
        #expect(group.breaches(of: ["of cleo", "after"]) == [])
    }

    @Test(.breaksRules, .breaks(.relayByQuarantined))
    func `A member would keep an event that the others closed, if such a relay counted`() throws {
        let group = try relayFollowsVote()
        let breaches = group.breaches(of: ["of cleo", "after"])
        #expect(breaches.isSuperset(of: [.doubled("of cleo", by: "bert"), .unconfirmed(by: "bert"), .statesDiffer]))
    }

    /// Only dora has cleo's tap. Bert requests it from her. By the time she answers, bert has voted to close both.
    private func relayFollowsVote() throws -> EngineGroup {
        var group = EngineGroup(paired: ["anna", "bert", "cleo", "dora", "eric"])
        try group.run(rounds: 2)
        for other in ["anna", "bert", "eric"] { group.cut("cleo", other) }
        for other in ["anna", "eric"] { group.cut("dora", other) }
        try group.tap("cleo", "of cleo")
        try group.speak("dora")
        group.cutOff("cleo")
        group.hold("dora", to: "bert")
        try group.run(rounds: 5, suspects: false)
        try #require(group["bert"].membershipIntent.missingEvents.count == 1)
        group.cutOff("dora")
        group.hold("eric", to: "bert")
        try #require(try group.run(upTo: 12) { $0["bert"].stance.change?.accepted != nil })
        try group.speak("eric")
        try group.release("dora", to: "bert")
        try #require(group["bert"].view == 0)
        // Bert decides by eric's vote. From anna's message he would learn that he holds more than the view closes, and rejoin.
        try group.release("eric", to: "bert")
        try #require(group["bert"].view == 1)
        try group.run(rounds: 8)
        try group.tap("bert", "after")
        group.mend()
        try group.run(rounds: 40)
        return group
    }

    // MARK: - Events of another member that was closed (rule 20)

    /// One tap more than the number of ids by which a member detects a duplicate of the first tap.
    private static let manyTaps = (0...ReducedState<[String]>.recentEventIDsMax).map { "cleo \($0)" }

    @Test func `A returning member doesn't reissue another member's events`() throws {
        #expect(try twoComeBack().breaches(of: Self.manyTaps) == [])
    }

    @Test(.breaksRules, .breaks(.reissueByOthers))
    func `An event would have its effect twice if two members reissued it`() throws {
        let group = try twoComeBack()
        #expect(group.breaches(of: Self.manyTaps).contains(.doubled("cleo 0", by: "anna")))
    }

    /// Cleo and dora are closed. Dora holds cleo's first tap. Both return in one view, but dora's copy takes a second longer.
    private func twoComeBack() throws -> EngineGroup {
        var group = EngineGroup(paired: ["anna", "bert", "cleo", "dora", "eric"])
        try group.run(rounds: 2)
        for one in ["cleo", "dora"] { for other in ["anna", "bert", "eric"] { group.cut(one, other) } }
        try group.tap("cleo", Self.manyTaps[0])
        group.cut("cleo", "dora")
        for tap in Self.manyTaps.dropFirst() { try group.tap("cleo", tap) }
        try group.run(rounds: 12)
        try #require(group.members(of: "anna") == ["anna", "bert", "eric"] && group["dora"].state == ["cleo 0"])
        group.mend()
        // Dora doesn't hear that cleo has reissued her taps.
        group.cut("cleo", "dora")
        try #require(try group.run(upTo: 20) { $0["anna"].pending.copies == ["cleo", "dora"] })
        group.hold("anna", to: "dora")
        try group.speak("anna")
        try #require(group["cleo"].isSealed && !group["dora"].isSealed)
        group.now += 1
        try group.release("anna", to: "dora")
        group.mend()
        try group.run(rounds: 30)
        return group
    }

    // MARK: - Tokens from before the group was founded (rule 8)

    private static let bertsTaps = (0..<40).map { "bert \($0)" }

    @Test func `A late message of a lost store doesn't replace the store's successor`() throws {
        let group = try lostStoreProvesLife()
        #expect(group.breaches(of: Self.bertsTaps) == [])
        #expect(group.alarms["bert"] == [])
    }

    @Test(.breaksRules, .breaks(.tokensKept))
    func `A late message of a lost store would replace it if founding kept its token`() throws {
        let group = try lostStoreProvesLife()
        #expect(group.breaches(of: Self.bertsTaps).contains(.doubled("bert 0", by: "anna")))
        #expect(group.alarms["bert"] != [])
    }

    /// Bert founds a group with cleo, who never answers. Anna stops waiting for that group, and asks bert for a proof of life.
    /// His answer arrives after he has lost his store and joined anna's group under another incarnation.
    private func lostStoreProvesLife() throws -> EngineGroup {
        var group = EngineGroup()
        for name in ["anna", "bert", "cleo"] { group.add(name) }
        group.cutOff("anna")
        try group.speak("cleo")
        group.cutOff("cleo")
        group.connect("anna")
        let former = group["bert"].source
        try #require(group["bert"].group == former && !group["bert"].isSealed)
        try #require(try group.run(upTo: 80) { $0["anna"].token(for: former) != nil })
        group.hold("bert", to: "anna")
        for name in ["anna", "bert"] { try group.speak(name) }
        group.deliverNow("bert", to: "anna")
        group.add("bert")
        try group.run(rounds: 6)
        try #require(group["anna"].isSealed && group["bert"].isSealed)
        group.alarms = [:]
        // Under a new incarnation, a device renames the taps of its current launch. A new launch has none yet.
        try group.relaunch("bert")
        for tap in Self.bertsTaps { try group.tap("bert", tap) }
        // Anna confirms the taps and folds most of them, so her copy lacks their ids. Bert doesn't learn of it.
        group.cut("anna", "bert")
        try group.speak("anna")
        try #require(group["anna"].logCount < 32 && group["bert"].logCount == 40)
        try group.release("bert", to: "anna")
        group.reconnect("anna", "bert")
        try group.run(rounds: 30)
        return group
    }
}

/// A violated guarantee of the engine, checked once all members have heard each other.
private enum Breach: Hashable {
    case lost(String, by: String)
    case doubled(String, by: String)
    /// The member still has unconfirmed events.
    case unconfirmed(by: String)
    /// The member has confirmed the event twice, or in an order other than the final one.
    case outOfOrder(String, confirmedBy: String)
    case statesDiffer
    case membersDiffer
}

extension EngineGroup {
    fileprivate func breaches(of taps: [String]) -> Set<Breach> {
        var breaches: Set<Breach> = []
        if states.count > 1 { breaches.insert(.statesDiffer) }
        for name in present {
            if members(of: name) != present { breaches.insert(.membersDiffer) }
            if self[name].unconfirmedCount > 0 { breaches.insert(.unconfirmed(by: name)) }
            let counts = Dictionary(grouping: self[name].state) { $0 }.mapValues(\.count)
            for tap in taps where counts[tap] == nil { breaches.insert(.lost(tap, by: name)) }
            for (tap, count) in counts where count > 1 { breaches.insert(.doubled(tap, by: name)) }
            // A member that has adopted a copy doesn't report every event.
            var rest = self[name].state[...]
            for event in confirmed[name] ?? [] {
                guard let place = rest.firstIndex(of: event) else {
                    breaches.insert(.outOfOrder(event, confirmedBy: name))
                    break
                }
                rest = rest[(place + 1)...]
            }
        }
        return breaches
    }
}

extension SessionSyncEngine {
    /// The token that the source has to return.
    fileprivate func token(for source: SessionSource) -> UInt32? {
        sources.slot(of: source).flatMap { sources[$0].token }
    }
}
