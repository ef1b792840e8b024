import Foundation
import MeshBrokenRules
import MeshIdentity
import Testing

@testable import MeshEngine

/// The reference's calls, by devices that keep nothing and relaunch.
@Suite struct RelaunchTests {
    /// Creates an engine as the reference's initializer does, without an incarnation.
    private func launch(_ peer: String) -> ListEngine {
        var options = SessionEngineOptions<[String], String>()
        return ListEngine(
            sessionID: session, featureID: "list", localPeerID: peer, payloadType: "list.event",
            snapshotPayloadType: "list.state", initialState: [], reducer: ListReducer(),
            conflictPolicy: NoRepeatPolicy(), options: options)
    }

    private func pair(laps: Int) throws -> (phone: ListEngine, watch: ListEngine) {
        var phone = launch("phone")
        var watch = launch("watch")
        for lap in 0..<laps {
            _ = try watch.receive(phone.submitLocal("p\(lap)", at: noon + Double(lap)))
            _ = try phone.receive(watch.submitLocal("w\(lap)", at: noon + Double(lap) + 0.5))
        }
        return (phone, watch)
    }

    /// Taps before, at and after the first snapshot, for every number of laps before the relaunch.
    @Test(arguments: 0...5, 0...7)
    func `A relaunch keeps the earlier laps on both screens, and no tap is a duplicate`(laps: Int, taps: Int) throws {
        var (phone, watch) = try pair(laps: laps)
        let earlier = watch.state
        phone = launch("phone")
        var snapshot = handMadeSnapshot(&watch)
        let tapped = (0..<taps).map { "tap \($0)" }
        for tap in tapped {
            let envelope = try phone.submitLocal(tap, at: noon + 100)
            #expect(try watch.receive(envelope) == .applied(watch.state), "\(tap) is new to the watch")
        }
        #expect(watch.state == earlier + tapped)
        // The snapshot that was in flight, then a current one.
        _ = try phone.applySnapshot(snapshot)
        snapshot = handMadeSnapshot(&watch)
        _ = try phone.applySnapshot(snapshot)
        #expect(phone.state == earlier + tapped)
        let last = try phone.submitLocal("last", at: noon + 200)
        #expect(try watch.receive(last) == .applied(watch.state))
        #expect(phone.state == earlier + tapped + ["last"])
        #expect(watch.state == phone.state)
        _ = try watch.applySnapshot(handMadeSnapshot(&phone))
        #expect(watch.state == phone.state, "and the phone's state removes nothing")
    }

    /// With incarnation 0 a caller can't tell launches apart. Even so, the peer's state isn't discarded.
    @Test(arguments: 2...5)
    func `A relaunch without an incarnation shows the peer's state and continues after it`(
        laps: Int
    ) throws {
        var phone = makeEngine("phone")
        var watch = makeEngine("watch")
        for lap in 0..<laps { _ = try watch.receive(phone.submitLocal("p\(lap)", at: noon + Double(lap))) }
        let earlier = watch.state
        phone = makeEngine("phone")
        _ = try phone.submitLocal("before", at: noon + 100)
        #expect(try phone.applySnapshot(handMadeSnapshot(&watch)) == .applied(phone.state))
        #expect(phone.state == earlier + ["before"])
        #expect(phone.store.nextLocalSequence == UInt64(laps) + 2)
        let after = try phone.submitLocal("after", at: noon + 101)
        #expect(after.metadata.sequence == UInt64(laps) + 2)
        #expect(phone.state == earlier + ["before", "after"])
        // The watch lacks one event and reports it. The snapshot brings it.
        #expect(
            try watch.receive(after)
                == .snapshotRequired(expectedSequence: UInt64(laps) + 1, receivedSequence: UInt64(laps) + 2))
        #expect(try watch.applySnapshot(handMadeSnapshot(&phone)) == .applied(phone.state))
        #expect(watch.state == phone.state)
    }

    /// The watch has written nothing, so the phone has no event to wait for.
    @Test func `A shown state isn't dropped while no event is missing`() throws {
        #expect(try shownAfterRelaunch() == ["p0", "p1", "p2"])
    }

    @Test(.breaksRules, .breaks(.relaunchForgets))
    func `Dropping a shown state would be detected`() throws {
        #expect(try shownAfterRelaunch() != ["p0", "p1", "p2"])
    }

    private func shownAfterRelaunch() throws -> [String] {
        var options = SessionEngineOptions<[String], String>()
        var watch = makeEngine("watch")
        for lap in 0..<3 { _ = try watch.receive(makeLap(lap)) }
        var phone = ListEngine(
            sessionID: session, featureID: "list", localPeerID: "phone", payloadType: "list.event",
            snapshotPayloadType: "list.state", initialState: [], reducer: ListReducer(),
            conflictPolicy: NoRepeatPolicy(), incarnation: 0, options: options)
        _ = try phone.applySnapshot(handMadeSnapshot(&watch))
        return phone.state
    }

    /// A lap event of the phone's earlier launch.
    private func makeLap(_ lap: Int) throws -> SessionSyncEnvelope<String> {
        var phone = makeEngine("phone")
        for earlier in 0..<lap { _ = try phone.submitLocal("p\(earlier)", at: noon + Double(earlier)) }
        return try phone.submitLocal("p\(lap)", at: noon + Double(lap))
    }

    @Test func `An event that changes the screen is reported as applied`() throws {
        #expect(try isShown())
    }

    @Test(.breaksRules, .breaks(.duplicateWhenShown))
    func `Reporting an event that changed the screen as a duplicate would be detected`() throws {
        #expect(try !isShown())
    }

    /// True if a caller that shows each applied state ends up showing the engine's state.
    private func isShown() throws -> Bool {
        var phone = launch("phone")
        var watch = launch("watch")
        let events = try ["one", "two"].map { try phone.submitLocal($0, at: noon) }
        _ = try watch.submitLocal("mine", at: noon - 1)
        _ = try watch.applySnapshot(phone.makeSnapshot(at: noon))
        #expect(watch.state == ["one", "two", "mine"], "the missing events are shown on top")
        var shown = watch.state
        for event in events { if case .applied(let state) = try watch.receive(event) { shown = state } }
        #expect(watch.state == ["mine", "one", "two"], "the events themselves have their order")
        return shown == watch.state
    }

    @Test func `An event without effect, and an event that waited for it and has one`() throws {
        var phone = launch("phone")
        var watch = launch("watch")
        let events = try ["same", "same", "other"].map { try phone.submitLocal($0, at: noon) }
        _ = try watch.receive(events[0])
        _ = try watch.receive(events[2])
        #expect(try watch.receive(events[1]) == .applied(["same", "other"]))
    }
}
