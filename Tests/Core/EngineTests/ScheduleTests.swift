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
        let company = try newcomerTapsFirst()
        #expect(company.breaches(of: ["first", "second"]) == [])
        #expect(company["eric"].state == ["first", "second"])
    }

    @Test(.breaksRules, .breaks(.newerViewCounts))
    func `A member would confirm without the newcomer, if a later view counted`() throws {
        let company = try newcomerTapsFirst()
        #expect(company.breaches(of: ["first", "second"]).contains(.lost("first", by: "eric")))
        #expect(company.confirmed["eric"] == ["second"])
    }

    /// Anna, bert and cleo add finn, who taps before cleo does. Eric gets cleo's tap and all acknowledgements of it before he
    /// hears of finn.
    private func newcomerTapsFirst() throws -> EngineCompany {
        var company = EngineCompany(paired: ["anna", "bert", "cleo", "dora", "eric"])
        try company.run(rounds: 2)
        for one in ["anna", "bert", "cleo", "finn"] { for other in ["dora", "eric"] { company.cut(one, other) } }
        company.add("finn", founds: false)
        company["anna"].invite("finn")
        try company.run(rounds: 8, suspects: false)
        try #require(company["cleo"].view == 1 && company["finn"].view == 1 && company["eric"].view == 0)
        for other in ["anna", "bert", "cleo"] { company.hold("finn", to: other) }
        try company.tap("finn", "first")
        for other in ["dora", "eric"] { company.reconnect("cleo", other) }
        try company.tap("cleo", "second")
        // The tap carries cleo's promise. Her control would be the third report of the new view, and eric would install it.
        for other in ["dora", "eric"] { company.cut("cleo", other) }
        for name in ["anna", "bert"] { company.reconnect(name, "eric") }
        for name in ["anna", "bert", "dora", "eric"] { try company.speak(name) }
        try #require(company["eric"].view == 0 && company["eric"].state == ["second"])
        company.mend()
        for other in ["anna", "bert", "cleo"] { try company.release("finn", to: other) }
        try company.run(rounds: 30)
        return company
    }

    // MARK: - Earlier votes (rule 17)

    private static let threeTaps = ["of anna", "of bert", "of cleo"]

    @Test func `A proposer repeats a view that may have been decided`() throws {
        let company = try voteIsLost()
        #expect(company.breaches(of: Self.threeTaps) == [])
        #expect(company.alarms["bert"] == [], "Bert installed the view that was decided first.")
    }

    @Test(.breaksRules, .breaks(.forgetsAccepted))
    func `Two views would have one number, if a proposer forgot what was accepted`() throws {
        let company = try voteIsLost()
        let breaches = company.breaches(of: Self.threeTaps)
        #expect(breaches.isSuperset(of: [.lost("of bert", by: "anna"), .lost("of anna", by: "bert")]))
        #expect(company.members(of: "anna") == ["anna", "cleo"] && company.members(of: "bert") == ["anna", "bert"])
        #expect(company.views == [1])
    }

    /// Anna and bert close cleo. Bert decides, and anna doesn't get his vote. Cleo comes back and wants to close bert.
    private func voteIsLost() throws -> EngineCompany {
        var company = EngineCompany(paired: ["anna", "bert", "cleo"])
        try company.run(rounds: 2)
        company.cutOff("cleo")
        try #require(try company.run(upTo: 8) { $0["bert"].view == 1 })
        company.cutOff("bert")
        company.connect("cleo")
        // Cleo would vote for the view if she heard of it before she starts her own ballot.
        company.hold("anna", to: "cleo")
        for name in ["anna", "bert", "cleo"] { try company.tap(name, "of \(name)") }
        try company.run(rounds: 5)
        try #require(company["anna"].view == 0 && company["anna"].stance.change?.ballot.proposer.peerID == "cleo")
        try company.release("anna", to: "cleo")
        try company.run(rounds: 3)
        company.mend()
        try company.run(rounds: 40)
        return company
    }

    // MARK: - Relays by a member that is to be closed (rule 17)

    @Test func `A relay by a member that is to be closed changes nothing`() throws {
        let company = try relayFollowsVote()
        #expect(company.breaches(of: ["of cleo", "after"]) == [])
    }

    @Test(.breaksRules, .breaks(.relayByQuarantined))
    func `A member would keep an event that the others closed, if such a relay counted`() throws {
        let company = try relayFollowsVote()
        let breaches = company.breaches(of: ["of cleo", "after"])
        #expect(breaches.isSuperset(of: [.doubled("of cleo", by: "bert"), .unconfirmed(by: "bert"), .statesDiffer]))
    }

    /// Only dora has cleo's tap. Bert requests it from her. By the time she answers, bert has voted to close both.
    private func relayFollowsVote() throws -> EngineCompany {
        var company = EngineCompany(paired: ["anna", "bert", "cleo", "dora", "eric"])
        try company.run(rounds: 2)
        for other in ["anna", "bert", "eric"] { company.cut("cleo", other) }
        for other in ["anna", "eric"] { company.cut("dora", other) }
        try company.tap("cleo", "of cleo")
        try company.speak("dora")
        company.cutOff("cleo")
        company.hold("dora", to: "bert")
        try company.run(rounds: 5, suspects: false)
        try #require(company["bert"].membershipIntent.missingEvents.count == 1)
        company.cutOff("dora")
        company.hold("eric", to: "bert")
        try #require(try company.run(upTo: 12) { $0["bert"].stance.change?.accepted != nil })
        try company.speak("eric")
        try company.release("dora", to: "bert")
        try #require(company["bert"].view == 0)
        // Bert decides by eric's vote. From anna's message he would learn that he holds more than the view closes, and rejoin.
        try company.release("eric", to: "bert")
        try #require(company["bert"].view == 1)
        try company.run(rounds: 8)
        try company.tap("bert", "after")
        company.mend()
        try company.run(rounds: 40)
        return company
    }

    // MARK: - Events of another member that was closed (rule 20)

    /// One tap more than the number of ids by which a member detects a duplicate of the first tap.
    private static let manyTaps = (0...ReducedState<[String]>.recentEventIDsMax).map { "cleo \($0)" }

    @Test func `A member that comes back doesn't issue the events of another one again`() throws {
        #expect(try twoComeBack().breaches(of: Self.manyTaps) == [])
    }

    @Test(.breaksRules, .breaks(.reissueByOthers))
    func `An event would have an effect twice, if two members issued it again`() throws {
        let company = try twoComeBack()
        #expect(company.breaches(of: Self.manyTaps).contains(.doubled("cleo 0", by: "anna")))
    }

    /// Cleo and dora are closed. Dora holds cleo's first tap. Both return in one view, but dora's copy takes a second longer.
    private func twoComeBack() throws -> EngineCompany {
        var company = EngineCompany(paired: ["anna", "bert", "cleo", "dora", "eric"])
        try company.run(rounds: 2)
        for one in ["cleo", "dora"] { for other in ["anna", "bert", "eric"] { company.cut(one, other) } }
        try company.tap("cleo", Self.manyTaps[0])
        company.cut("cleo", "dora")
        for tap in Self.manyTaps.dropFirst() { try company.tap("cleo", tap) }
        try company.run(rounds: 12)
        try #require(company.members(of: "anna") == ["anna", "bert", "eric"] && company["dora"].state == ["cleo 0"])
        company.mend()
        // Dora doesn't hear that cleo has reissued her taps.
        company.cut("cleo", "dora")
        try #require(try company.run(upTo: 20) { $0["anna"].pending.copies == ["cleo", "dora"] })
        company.hold("anna", to: "dora")
        try company.speak("anna")
        try #require(company["cleo"].isSealed && !company["dora"].isSealed)
        company.now += 1
        try company.release("anna", to: "dora")
        company.mend()
        try company.run(rounds: 30)
        return company
    }

    // MARK: - Tokens from before the group was founded (rule 8)

    private static let bertsTaps = (0..<40).map { "bert \($0)" }

    @Test func `A late message of a lost store doesn't take the place of its successor`() throws {
        let company = try lostStoreProvesLife()
        #expect(company.breaches(of: Self.bertsTaps) == [])
        #expect(company.alarms["bert"] == [])
    }

    @Test(.breaksRules, .breaks(.tokensKept))
    func `A late message of a lost store would, if founding kept its token`() throws {
        let company = try lostStoreProvesLife()
        #expect(company.breaches(of: Self.bertsTaps).contains(.doubled("bert 0", by: "anna")))
        #expect(company.alarms["bert"] != [])
    }

    /// Bert founds a group with cleo, who never answers. Anna stops waiting for that group, and asks bert for a proof of life.
    /// His answer arrives after he has lost his store and joined anna's group under another incarnation.
    private func lostStoreProvesLife() throws -> EngineCompany {
        var company = EngineCompany()
        for name in ["anna", "bert", "cleo"] { company.add(name) }
        company.cutOff("anna")
        try company.speak("cleo")
        company.cutOff("cleo")
        company.connect("anna")
        let former = company["bert"].source
        try #require(company["bert"].group == former && !company["bert"].isSealed)
        try #require(try company.run(upTo: 80) { $0["anna"].token(for: former) != nil })
        company.hold("bert", to: "anna")
        for name in ["anna", "bert"] { try company.speak(name) }
        company.hasten("bert", to: "anna")
        company.add("bert")
        try company.run(rounds: 6)
        try #require(company["anna"].isSealed && company["bert"].isSealed)
        company.alarms = [:]
        // Under a new incarnation, a device renames the taps of its current launch. A new launch has none yet.
        try company.relaunch("bert")
        for tap in Self.bertsTaps { try company.tap("bert", tap) }
        // Anna confirms the taps and folds most of them, so her copy lacks their ids. Bert doesn't hear of it.
        company.cut("anna", "bert")
        try company.speak("anna")
        try #require(company["anna"].logCount < 32 && company["bert"].logCount == 40)
        try company.release("bert", to: "anna")
        company.reconnect("anna", "bert")
        try company.run(rounds: 30)
        return company
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

extension EngineCompany {
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
