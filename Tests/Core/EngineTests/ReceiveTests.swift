import Foundation
import MeshIdentity
import Testing

@testable import MeshEngine

@Suite struct ReceiveTests {
    var phone = makeEngine("phone")
    var watch = makeEngine("watch")

    @Test mutating func `an event applies at once on its device, and on the peer when received`() throws {
        let envelope = try phone.submitLocal("start", at: noon)
        #expect(phone.state == ["start"])
        #expect(try watch.receive(envelope) == .applied(["start"]))
        #expect(watch.store.lastSequenceByPeerID == ["phone": 1])
        #expect(phone.store.lastSequenceByPeerID == ["phone": 1])
        #expect(phone.store.nextLocalSequence == 2)
    }

    @Test mutating func `an event received again is a duplicate, however often`() throws {
        let envelope = try phone.submitLocal("start", at: noon)
        _ = try watch.receive(envelope)
        for _ in 0..<3 { #expect(try watch.receive(envelope) == .duplicate(["start"])) }
    }

    @Test mutating func `an own event received back is a duplicate`() throws {
        let envelope = try phone.submitLocal("start", at: noon)
        #expect(try phone.receive(envelope) == .duplicate(["start"]))
    }

    @Test mutating func `own events from before a lost store apply, and the sequence continues after them`() throws {
        let first = try phone.submitLocal("one", at: noon)
        let second = try phone.submitLocal("two", at: noon)
        var relaunched = makeEngine("phone")
        #expect(try relaunched.receive(first) == .applied(["one"]))
        #expect(try relaunched.receive(second) == .applied(["one", "two"]))
        #expect(try relaunched.submitLocal("three", at: noon).metadata.sequence == 3)
    }

    @Test mutating func `a skipped sequence asks for a snapshot and changes nothing`() throws {
        _ = try phone.submitLocal("one", at: noon)
        let second = try phone.submitLocal("two", at: noon)
        #expect(try watch.receive(second) == .snapshotRequired(expectedSequence: 1, receivedSequence: 2))
        #expect(watch.state.isEmpty)
    }

    @Test mutating func `a rejected event is ignored and its sequence recorded`() throws {
        _ = try watch.receive(phone.submitLocal("lap", at: noon))
        let rejected = try phone.submitLocal("lap", at: noon)
        #expect(phone.state == ["lap"], "the policy runs for local events too")
        #expect(rejected.metadata.sequence == 2)
        #expect(try watch.receive(rejected) == .ignored(["lap"]))
        #expect(try watch.receive(phone.submitLocal("end", at: noon)) == .applied(["lap", "end"]))
    }

    @Test mutating func `a reducer that throws stops a local event before a sequence is taken`() throws {
        #expect(throws: ListReducer.Refusal.self) { try phone.submitLocal("poison", at: noon) }
        #expect(phone.store.nextLocalSequence == 1)
        #expect(phone.store.lastSequenceByPeerID.isEmpty)
    }

    @Test mutating func `a reducer that throws on a received event leaves a recorded no-op`() throws {
        let envelope = try phone.submitLocal("fine", at: noon)
        let poison = SessionSyncEnvelope(metadata: envelope.metadata, payload: "poison")
        #expect(try watch.receive(poison) == .ignored([]))
        #expect(watch.store.lastSequenceByPeerID == ["phone": 1])
    }

    @Test mutating func `the same explicit event id under another sequence is a duplicate and leaves no gap`() throws {
        let id = UUID()
        var envelope = try phone.submitLocal("one", at: noon)
        envelope.metadata.eventID = id
        var again = try phone.submitLocal("one again", at: noon)
        again.metadata.eventID = id
        _ = try watch.receive(envelope)
        #expect(try watch.receive(again) == .duplicate(["one"]))
        #expect(try watch.receive(phone.submitLocal("two", at: noon)) == .applied(["one", "two"]))
    }

    @Test mutating func `every mismatch is an error of its own and changes nothing`() throws {
        let good = try phone.submitLocal("start", at: noon)
        let mismatches: [(SessionSyncError, (inout SessionSyncMetadata) -> Void)] = [
            (.sessionMismatch, { $0.sessionID = UUID() }),
            (.featureMismatch, { $0.featureID = "other" }),
            (.payloadTypeMismatch, { $0.payloadType = "other" }),
            (.unsupportedProtocolVersion(received: 2, supported: 1), { $0.protocolVersion = 2 }),
            (.unsupportedProtocolVersion(received: 0, supported: 1), { $0.protocolVersion = 0 }),
        ]
        for (error, change) in mismatches {
            var metadata = good.metadata
            change(&metadata)
            let bad = SessionSyncEnvelope(metadata: metadata, payload: good.payload)
            #expect(throws: error) { try watch.receive(bad) }
        }
        #expect(watch.store.lastSequenceByPeerID.isEmpty)
    }

    @Test mutating func `a new incarnation of a peer counts from one again`() throws {
        _ = try watch.receive(phone.submitLocal("one", at: noon))
        var relaunched = makeEngine("phone", incarnation: 7)
        #expect(try watch.receive(relaunched.submitLocal("two", at: noon)) == .applied(["one", "two"]))
        #expect(watch.store.lastSequenceByPeerID == ["phone": 1, "phone/7+0": 0, "phone/0": 1])
        #expect(try watch.receive(phone.submitLocal("late", at: noon)) == .applied(["one", "two", "late"]))
        #expect(watch.store.lastSequenceByPeerID == ["phone": 1, "phone/7+0": 0, "phone/0": 2])
    }

    @Test mutating func `sources are bounded`() throws {
        for index in 0..<SessionSyncStore<[String]>.sourcesMax {
            var peer = makeEngine("peer \(index)")
            _ = try watch.receive(peer.submitLocal("event \(index)", at: noon))
        }
        let state = watch.state
        #expect(throws: SessionSyncError.tooManySources(limit: 1024)) {
            try watch.receive(phone.submitLocal("one more", at: noon))
        }
        #expect(watch.state == state)
    }

    @Test mutating func `a stamp exceeds everything its author has seen, whatever the clocks say`() throws {
        let fromAhead = try phone.submitLocal("one", at: noon.addingTimeInterval(3600))
        _ = try watch.receive(fromAhead)
        let reply = try watch.submitLocal("two", at: noon)
        #expect(reply.metadata.stamp > fromAhead.metadata.stamp)
        #expect(reply.metadata.causalTimestamp == noon, "the caller's own time is unchanged")
    }
}
