import Foundation
import MeshIdentity
import Testing

@testable import MeshEngine

@Suite struct SnapshotTests {
    var phone = makeEngine("phone")
    var watch = makeEngine("watch")

    @Test(arguments: [true, false])
    func `M17: the event after a hand-made snapshot is applied, not dropped`(listsItself: Bool) throws {
        var phone = phone
        var watch = watch
        for event in ["start", "lap", "pause"] { _ = try phone.submitLocal(event, at: noon) }
        let snapshot = handMadeSnapshot(&phone, listsItself: listsItself)
        #expect(snapshot.metadata.sequence == 4)
        #expect(try watch.applySnapshot(snapshot) == .applied(["start", "lap", "pause"]))
        #expect(watch.store.lastSequenceByPeerID == ["phone": 3])
        let next = try phone.submitLocal("resume", at: noon)
        #expect(try watch.receive(next) == .applied(["start", "lap", "pause", "resume"]))
    }

    @Test func `events that arrive after a hand-made snapshot of them aren't shown twice`() throws {
        var phone = makeEngine("phone", incarnation: 5)
        var watch = makeEngine("watch", incarnation: 6)
        let events = try ["one", "two"].map { try phone.submitLocal($0, at: noon) }
        _ = try watch.submitLocal("mine", at: noon + 1)
        #expect(try watch.applySnapshot(handMadeSnapshot(&phone)) == .applied(["one", "two", "mine"]))
        for event in events { _ = try watch.receive(event) }
        #expect(watch.state == ["one", "two", "mine"])
    }

    @Test mutating func `a snapshot closes a gap`() throws {
        _ = try phone.submitLocal("one", at: noon)
        let second = try phone.submitLocal("two", at: noon)
        _ = try watch.receive(second)
        _ = try watch.applySnapshot(phone.makeSnapshot(at: noon))
        #expect(try watch.receive(second) == .duplicate(["one", "two"]))
    }

    @Test mutating func `a snapshot with fewer events is stale, whatever its revision`() throws {
        let first = try phone.submitLocal("one", at: noon)
        for _ in 0..<5 { _ = phone.allocateOutgoingSnapshotRevision() }
        let early = handMadeSnapshot(&phone)
        _ = try watch.receive(first)
        _ = try watch.receive(phone.submitLocal("two", at: noon))
        #expect(try watch.applySnapshot(early) == .staleIgnored(state: ["one", "two"], currentRevision: 0))
        #expect(watch.state == ["one", "two"])
    }

    @Test mutating func `M4: two peers with the same events in different orders agree on one state`() throws {
        let fromPhone = try phone.submitLocal("phone", at: noon)
        let fromWatch = try watch.submitLocal("watch", at: noon)
        _ = try phone.receive(fromWatch)
        _ = try watch.receive(fromPhone)
        #expect(phone.state == watch.state, "one order in any order of arrival")
        let phoneSnapshot = handMadeSnapshot(&phone)
        let watchSnapshot = handMadeSnapshot(&watch)
        #expect(phoneSnapshot.revision == watchSnapshot.revision, "symmetric revisions tie")
        _ = try phone.applySnapshot(watchSnapshot)
        _ = try watch.applySnapshot(phoneSnapshot)
        #expect(phone.state == watch.state)
    }

    @Test mutating func `a snapshot gives a relaunched peer its own sequence back`() throws {
        _ = try watch.receive(phone.submitLocal("one", at: noon))
        var relaunched = makeEngine("phone")
        _ = try relaunched.applySnapshot(watch.makeSnapshot(at: noon))
        let next = try relaunched.submitLocal("two", at: noon)
        #expect(next.metadata.sequence == 2)
        #expect(try watch.receive(next) == .applied(["one", "two"]))
    }

    @Test mutating func `revisions grow over everything sent and applied`() throws {
        #expect(phone.allocateOutgoingSnapshotRevision() == 1)
        #expect(phone.allocateOutgoingSnapshotRevision() == 2)
        _ = try phone.submitLocal("one", at: noon)
        _ = try watch.applySnapshot(phone.makeSnapshot(at: noon))
        #expect(watch.allocateOutgoingSnapshotRevision() == 4)
    }

    @Test mutating func `a snapshot of another session, feature, type or version is an error and changes nothing`()
        throws
    {
        _ = try phone.submitLocal("one", at: noon)
        let good = handMadeSnapshot(&phone)
        let mismatches: [(SessionSyncError, (inout SessionSyncMetadata) -> Void)] = [
            (.sessionMismatch, { $0.sessionID = UUID() }),
            (.featureMismatch, { $0.featureID = "other" }),
            (.payloadTypeMismatch, { $0.payloadType = "list.event" }),
            (.unsupportedProtocolVersion(received: 9, supported: 1), { $0.protocolVersion = 9 }),
        ]
        for (error, change) in mismatches {
            var bad = good
            change(&bad.metadata)
            #expect(throws: error) { try watch.applySnapshot(bad) }
        }
        #expect(watch.state.isEmpty)
    }
}
