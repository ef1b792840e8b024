import Foundation
import MeshBrokenRules
import MeshIdentity
import Testing

@testable import MeshEngine

/// A snapshot as the base of an engine whose caller uses the reference's calls and keeps nothing.
@Suite struct SnapshotBaseTests {
    private func launch(_ peer: String, _ incarnation: UInt32) -> ListEngine {
        var options = SessionEngineOptions<[String], String>()
        return ListEngine(
            sessionID: session, featureID: "list", localPeerID: peer, payloadType: "list.event",
            snapshotPayloadType: "list.state", initialState: [], reducer: ListReducer(),
            conflictPolicy: NoRepeatPolicy(), incarnation: incarnation, options: options)
    }

    /// A phone and a watch that held each other's laps. Then the phone relaunched and took over the watch's state.
    private func relaunched(
        namesLives: Bool = true
    ) throws -> (phone: ListEngine, watch: ListEngine) {
        var (phone, watch) = (launch("phone", 1), launch("watch", 2))
        for lap in 0..<3 {
            _ = try watch.receive(phone.submitLocal("p\(lap)", at: noon + Double(lap)))
            _ = try phone.receive(watch.submitLocal("w\(lap)", at: noon + Double(lap) + 0.5))
        }
        phone = launch("phone", 3)
        _ = try phone.applySnapshot(handMadeSnapshot(&watch, namesLives: namesLives, at: noon + 5))
        return (phone, watch)
    }

    @Test func `After a relaunch the peer's state is the base, and its next state decides the order of crossing taps`()
        throws
    {
        var (phone, watch) = try relaunched()
        #expect(!phone.isProvisional)
        // Concurrent taps cross. The watch's snapshot arrives before its event.
        let (own, other, snapshot) = try crossing(&phone, &watch)
        #expect(try phone.applySnapshot(snapshot) == .applied(phone.state))
        #expect(try phone.receive(other) == .applied(phone.state), "the caller must publish")
        #expect(try watch.receive(own) == .applied(watch.state))
        #expect(try phone.applySnapshot(handMadeSnapshot(&watch, at: noon + 11)) == .applied(watch.state))
        #expect(phone.state.suffix(2) == ["own", "other"], "the order of taps, not that of arrival")
    }

    @Test(.breaksRules, .breaks(.baseRefused))
    func `Without a base the two would differ`() throws {
        var (phone, watch) = try relaunched()
        #expect(phone.isProvisional)
        let (own, other, snapshot) = try crossing(&phone, &watch)
        _ = try phone.applySnapshot(snapshot)
        _ = try phone.receive(other)
        _ = try watch.receive(own)
        #expect(phone.state != watch.state)
    }

    private func crossing(_ phone: inout ListEngine, _ watch: inout ListEngine) throws -> (
        own: SessionSyncEnvelope<String>, other: SessionSyncEnvelope<String>, snapshot: SessionSyncSnapshot<[String]>
    ) {
        let own = try phone.submitLocal("own", at: noon + 9)
        let other = try watch.submitLocal("other", at: noon + 10)
        return (own, other, handMadeSnapshot(&watch, at: noon + 10))
    }

    @Test func `A snapshot closes the gap of an event that never comes`() throws {
        var (phone, watch) = (launch("phone", 1), launch("watch", 2))
        _ = try phone.submitLocal("lost", at: noon)
        let second = try phone.submitLocal("second", at: noon + 1)
        #expect(try watch.receive(second) == .snapshotRequired(expectedSequence: 1, receivedSequence: 2))
        #expect(try watch.applySnapshot(handMadeSnapshot(&phone, at: noon + 1)) == .applied(["lost", "second"]))
        #expect(!watch.isProvisional)
        #expect(try watch.receive(phone.submitLocal("third", at: noon + 2)) == .applied(["lost", "second", "third"]))
    }

    /// The phone relaunched, and the watch, of an earlier version, hasn't named the phone's earlier incarnation. Then the watch
    /// misses the new launch's first event.
    private func afterLoss() throws -> (phone: ListEngine, watch: ListEngine) {
        var (phone, watch) = try relaunched(namesLives: false)
        _ = try phone.submitLocal("lost", at: noon + 10)
        let second = try phone.submitLocal("second", at: noon + 11)
        #expect(try watch.receive(second) == .snapshotRequired(expectedSequence: 1, receivedSequence: 2))
        _ = try watch.applySnapshot(handMadeSnapshot(&phone, at: noon + 11))
        return (phone, watch)
    }

    @Test func `A new launch's state lists how many events of the earlier launch it includes`() throws {
        let (phone, watch) = try afterLoss()
        #expect(phone.store.lastSequenceByPeerID == ["phone": 2, "phone/3+3": 0, "phone/unordered": 0, "watch": 3])
        #expect(watch.state == phone.state)
        #expect(watch.state.count == 8, "nothing is lost or doubled")
    }

    @Test(.breaksRules, .breaks(.incarnationsOmitted))
    func `A peer can't adopt a state without that list`() throws {
        let (phone, watch) = try afterLoss()
        #expect(watch.state.count == 6)
        #expect(watch.state != phone.state)
    }

    /// The watch has the second of two taps when the phone relaunches. The new launch makes one tap, which its state includes.
    private func afterUnannouncedLaunch() throws -> (phone: ListEngine, watch: ListEngine) {
        var (phone, watch) = (launch("phone", 1), launch("watch", 2))
        let first = try phone.submitLocal("first", at: noon)
        _ = try watch.receive(phone.submitLocal("second", at: noon + 1))
        phone = launch("phone", 3)
        let third = try phone.submitLocal("third", at: noon + 2)
        _ = try watch.applySnapshot(handMadeSnapshot(&phone, listsItself: false, at: noon + 2))
        _ = try watch.receive(third)
        _ = try watch.receive(first)
        return (phone, watch)
    }

    @Test func `A state names the launches it counts, even before their events arrive`() throws {
        var (phone, watch) = try afterUnannouncedLaunch()
        #expect(watch.state == ["first", "second", "third"])
        #expect(try phone.applySnapshot(handMadeSnapshot(&watch, at: noon + 3)) == .applied(watch.state))
    }

    @Test(.breaksRules, .breaks(.incarnationsOmitted))
    func `Without the names, it would count for the launch before`() throws {
        let (_, watch) = try afterUnannouncedLaunch()
        #expect(watch.state != ["first", "second", "third"])
    }

    @Test func `An own tap missing from the state stays on top of it, once and under its name`() throws {
        var (phone, watch) = try relaunched()
        let own = try phone.submitLocal("own", at: noon + 10)
        _ = try watch.submitLocal("other", at: noon + 11)
        _ = try phone.applySnapshot(handMadeSnapshot(&watch, at: noon + 11))
        #expect(Array(phone.state.suffix(2)) == ["other", "own"])
        #expect(try watch.receive(own) == .applied(watch.state))
        _ = try phone.applySnapshot(handMadeSnapshot(&watch, at: noon + 12))
        #expect(phone.state.count { $0 == "own" } == 1)
        #expect(try watch.receive(own) == .duplicate(watch.state))
    }

    /// The watch adopts the relaunched phone's state because of a gap, with its own tap on top. The phone receives that tap as
    /// an event, puts it in order, and sends its state last.
    @Test func `An engine with own taps on top of a state adopts that state's order from its peer`() throws {
        var (phone, watch) = try relaunched()
        let own = try watch.submitLocal("own", at: noon + 10)
        _ = try phone.submitLocal("lost", at: noon + 11)
        let second = try phone.submitLocal("second", at: noon + 12)
        #expect(try watch.receive(second) == .snapshotRequired(expectedSequence: 1, receivedSequence: 2))
        _ = try watch.applySnapshot(handMadeSnapshot(&phone, at: noon + 12))
        #expect(watch.state.suffix(3) == ["lost", "second", "own"])
        #expect(try phone.receive(own) == .applied(phone.state))
        #expect(phone.state.suffix(3) == ["own", "lost", "second"])
        #expect(try watch.applySnapshot(handMadeSnapshot(&phone, at: noon + 13)) == .applied(phone.state))
    }

    /// Each engine adopts the other's state and puts its own tap on top. Only then does it receive the other's tap as an event.
    @Test func `Of two engines that adopt each other's states, one adopts the other's order, whichever sends first`()
        throws
    {
        for phoneIsFirst in [true, false] {
            var (phone, watch) = try relaunched()
            watch = launch("watch", 4)
            _ = try watch.applySnapshot(handMadeSnapshot(&phone, at: noon + 6))
            let own = try phone.submitLocal("own", at: noon + 9)
            let other = try watch.submitLocal("other", at: noon + 9)
            let (phones, watchs) = (handMadeSnapshot(&phone, at: noon + 9), handMadeSnapshot(&watch, at: noon + 9))
            _ = try phone.applySnapshot(watchs)
            _ = try watch.applySnapshot(phones)
            #expect(phone.state != watch.state)
            // Both states already contain these events. Each engine still has to report its state, as neither has done so.
            #expect(try phone.receive(other) == .applied(phone.state))
            #expect(try watch.receive(own) == .applied(watch.state))
            let last = (phone: handMadeSnapshot(&phone, at: noon + 10), watch: handMadeSnapshot(&watch, at: noon + 10))
            if phoneIsFirst { _ = try watch.applySnapshot(last.phone) }
            _ = try phone.applySnapshot(last.watch)
            if !phoneIsFirst { _ = try watch.applySnapshot(last.phone) }
            #expect(phone.state == watch.state)
            #expect(try phone.receive(other) == .duplicate(phone.state))
        }
    }

    @Test func `An engine that holds every event keeps its order, and its peer adopts it at any revision`() throws {
        var (phone, watch) = (launch("phone", 1), launch("watch", 2))
        let own = try watch.submitLocal("own", at: noon)
        _ = try phone.submitLocal("lost", at: noon + 1)
        _ = try watch.receive(phone.submitLocal("second", at: noon + 2))
        _ = try watch.applySnapshot(handMadeSnapshot(&phone, at: noon + 2))
        #expect(watch.state == ["lost", "second", "own"])
        _ = try phone.receive(own)
        let snapshot = handMadeSnapshot(&phone, at: noon + 3)
        for _ in 0..<9 { _ = try phone.applySnapshot(handMadeSnapshot(&watch, at: noon + 3)) }
        #expect(phone.state == ["own", "lost", "second"])
        #expect(try watch.applySnapshot(snapshot) == .applied(phone.state))
        #expect(watch.store.lastSequenceByPeerID == phone.store.lastSequenceByPeerID, "it has the phone's order")
    }

    @Test func `A peer's earlier incarnation counts once, so an old state of that peer is stale`() throws {
        var (phone, watch) = try afterLoss()
        let old = handMadeSnapshot(&watch, at: noon + 12)
        #expect(Set(old.peerSequenceVector.keys).isSuperset(of: ["phone/1", "phone/3+3"]))
        _ = try phone.submitLocal("third", at: noon + 13)
        guard case .staleIgnored = try phone.applySnapshot(old) else {
            Issue.record("three events count twice")
            return
        }
        #expect(
            phone.store.lastSequenceByPeerID == [
                "phone": 3, "phone/3+0": 0, "phone/1": 3, "phone/unordered": 0, "watch": 3, "watch/2+0": 0,
            ])
    }

    @Test func `A state that lacks what the base includes changes nothing`() throws {
        var (phone, _) = try relaunched()
        let shown = phone.state
        var watch = launch("watch", 4)
        _ = try watch.submitLocal("new life", at: noon + 20)
        for lap in 0..<5 { _ = try watch.submitLocal("lap \(lap)", at: noon + 21) }
        let result = try phone.applySnapshot(handMadeSnapshot(&watch, at: noon + 22))
        #expect(result == .staleIgnored(state: shown, currentRevision: 1))
        #expect(phone.state == shown)
    }

    @Test func `A session never uses a snapshot as its base`() throws {
        let calls: [(inout ListEngine) -> Void] = [{ $0.tick(at: noon) }, { _ = $0.takeDirectives() }]
        for call in calls {
            var phone = launch("phone", 1)
            call(&phone)
            var watch = launch("watch", 2)
            _ = try watch.receive(launch("phone", 9).submitted("earlier"))
            _ = try watch.submitLocal("w", at: noon)
            _ = try phone.applySnapshot(handMadeSnapshot(&watch, at: noon))
            #expect(phone.isProvisional && phone.snapshotBase == nil)
        }
    }

    /// A hostile vector changes no number of the local source. For other sources it is limited to the bound for hearsay.
    @Test func `Numbers of a lying snapshot are bounded`() throws {
        var phone = launch("phone", 1)
        _ = try phone.submitLocal("own", at: noon)
        var snapshot = SessionSyncSnapshot(
            metadata: SessionSyncMetadata(
                sessionID: session, featureID: "list", sourcePeerID: "liar", sequence: 7, causalTimestamp: noon,
                payloadType: "list.state"),
            revision: 1, state: ["lie"], peerSequenceVector: ["phone": 1 << 50, "watch": 1 << 50])
        _ = try phone.applySnapshot(snapshot)
        #expect(phone.snapshotBase != nil)
        #expect(phone.store.nextLocalSequence == 2)
        #expect(phone.store.lastSequenceByPeerID["watch"] == SequenceBounds.hearsay)
        #expect(phone.state == ["lie", "own"])
        snapshot = SessionSyncSnapshot(
            metadata: snapshot.metadata, revision: 2, state: [],
            peerSequenceVector: Dictionary(uniqueKeysWithValues: (0..<2_000).map { ("\($0)", 1) }))
        #expect(throws: SessionSyncError.tooManySources(limit: 1_024)) { try phone.applySnapshot(snapshot) }
    }
}

extension ListEngine {
    fileprivate func submitted(_ event: String) throws -> SessionSyncEnvelope<String> {
        var engine = self
        return try engine.submitLocal(event, at: noon)
    }
}
