import Foundation
import MeshIdentity
import MeshLoopbackTransport
import MeshTransport
import Testing

@testable import MeshDiagnostics

@Suite("Recordings as JSON Lines")
struct DiagnosticsRecordingTests {
    private var whole: DiagnosticsEntry {
        var entry = DiagnosticsEntry(number: 7, at: 1_767_225_600.125, peer: "phone", kind: .state, step: .late)
        (entry.from, entry.to, entry.feature, entry.payloadType) = ("watch", "phone", "workout", "Event")
        (entry.sequence, entry.message, entry.mode) = (.max, "a", "latestSnapshot")
        (entry.bytes, entry.codec, entry.text) = (12, "compact", "two\nlines \u{2028} <b>")
        (entry.confirmed, entry.cut) = (3, 1_767_225_600_125)
        (entry.vector, entry.sync, entry.state) = (["watch/1": 9], ["watch": "up to date"], #"{"a":[1]}"#)
        entry.event = #"{"lap":{"_0":3}}"#
        return entry
    }

    @Test("A written recording is read again, each entry a line")
    func roundTrip() throws {
        let recording = DiagnosticsRecording(
            entries: [whole, DiagnosticsEntry(number: 8, at: 0, peer: "", kind: .note)])
        let lines = recording.jsonLines
        #expect(lines.count { $0 == UInt8(ascii: "\n") } == 2)
        #expect(try DiagnosticsRecording(jsonLines: lines).entries == recording.entries)
        // As an editor may save them.
        let edited = Data("\n".utf8) + lines.replacing(Data("\n".utf8), with: Data("\r\n".utf8)) + Data("  \n".utf8)
        #expect(try DiagnosticsRecording(jsonLines: edited).entries == recording.entries)
    }

    @Test("A time that JSON can't express is left out")
    func noNumber() throws {
        let recording = DiagnosticsRecording(entries: [DiagnosticsEntry(at: .nan, peer: "phone", kind: .note), whole])
        #expect(try DiagnosticsRecording(jsonLines: recording.jsonLines).entries == [whole])
    }

    @Test("a later version's keys are skipped")
    func later() throws {
        let line = #"{"number":1,"at":2.5,"peer":"a","kind":"note","mood":{"deep":[1]}}"#
        #expect(
            try DiagnosticsRecording(jsonLines: Data(line.utf8)).entries
                == [DiagnosticsEntry(number: 1, at: 2.5, peer: "a", kind: .note)])
    }

    @Test("A line that isn't an entry is refused with its number")
    func malformed() {
        let good = #"{"number":1,"at":2.5,"peer":"a","kind":"note"}"#
        let bad = [
            "{", "[]", "7", #"{"number":-1,"at":2.5,"peer":"a","kind":"note"}"#,
            #"{"number":1,"at":2.5,"peer":"a","kind":"mood"}"#, #"{"number":1,"at":"x","peer":"a","kind":"note"}"#,
            #"{"number":18446744073709551616,"at":2.5,"peer":"a","kind":"note"}"#, "\u{0}\u{FFFD}",
        ]
        for line in bad {
            #expect {
                try DiagnosticsRecording(jsonLines: Data("\(good)\n\n\(line)\n\(good)".utf8))
            } throws: { "\($0)".hasPrefix("malformed: line 3 isn't an entry of a recording (") }
        }
        let long = Data(repeating: UInt8(ascii: "x"), count: DiagnosticsRecording.lineBytesMax + 1)
        #expect {
            try DiagnosticsRecording(jsonLines: long)
        } throws: { ($0 as? DiagnosticsError)?.code == .tooLarge }
    }

    @Test("Traffic becomes entries that match at the sender and the receiver")
    func records() async throws {
        let peer = SessionPeer(id: "phone", deviceClass: .phone, appInstanceID: "a", topology: .sameHost)
        let session = DiagnosticsSession(
            wrapping: LoopbackSessionSyncTransport(localPeer: peer), now: { Date(timeIntervalSince1970: 5) })
        let received = session.receiveEnvelopes()
        let metadata = SessionSyncMetadata(
            sessionID: UUID(), featureID: "workout", sourcePeerID: "phone", sequence: 4, causalTimestamp: Date(),
            payloadType: "Event")
        try await session.send(
            AnySessionSyncEnvelope(SessionSyncEnvelope(metadata: metadata, payload: 1)), mode: .realtimeBestEffort,
            to: nil)
        for await _ in received { break }
        let entries = session.recording.entries
        let envelopes = entries.filter { $0.kind == .envelope }
        #expect(Set(envelopes.map(\.step)) == [.sent, .received])
        #expect(Set(envelopes.map(\.message)) == [metadata.eventID.uuidString])
        #expect(
            envelopes.allSatisfy { $0.at == 5 && $0.from == "phone" && $0.sequence == 4 && $0.feature == "workout" })
        #expect(envelopes.allSatisfy { $0.session == metadata.sessionID.uuidString })
        let lines = String(decoding: session.recording.jsonLines, as: UTF8.self)
        let earlier = lines.replacing(/"session":"[^"]*",/, with: "")
        #expect(earlier != lines)
        let read = try DiagnosticsRecording(jsonLines: Data(earlier.utf8)).entries
        #expect(read.count == entries.count && read.allSatisfy { $0.session == nil }, "of an earlier version")
        #expect(session.records(after: 0).count == session.records.count)
        #expect(session.records(after: session.recordedCount).isEmpty)
        await session.close()
    }
}
