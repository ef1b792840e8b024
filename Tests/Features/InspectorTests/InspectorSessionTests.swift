#if Inspector
    import Foundation
    import MeshDiagnostics
    import MeshEngine
    import MeshIdentity
    import MeshLoopbackTransport
    import MeshSession
    import MeshTransport
    import Testing

    @testable import MeshInspector

    /// A heart rate that no recording may contain.
    private struct HeartRate: Codable, Equatable, Sendable { var rate = 187_187 }

    private struct Training: SessionFeature {
        static let featureID = "training"
        struct State: Codable, Equatable, Sendable {
            var laps = 0
            var last: HeartRate? = HeartRate()
        }
        enum Event: Codable, Sendable {
            case lap(Int)
            case beat(HeartRate)
        }
        let initialState = State()

        func reduce(state: inout State, event: Event, context: SessionEventContext) {
            if case .lap(let number) = event { state.laps = number }
        }
    }

    /// A wrapper around the recorder, as apps may add.
    private struct Outer: TransportWrapper {
        let wrapped: any SessionSyncTransport
    }

    @Suite("A session in the inspector")
    @MainActor
    struct InspectorSessionTests {
        private func recording(redacting redactedTypes: [any Encodable.Type]) async throws -> DiagnosticsRecording {
            let peer = SessionPeer(id: "me", deviceClass: .desktop, appInstanceID: "1", topology: .sameHost)
            let recorder = DiagnosticsSession(wrapping: LoopbackSessionSyncTransport(localPeer: peer))
            let inspector = try await Inspector.start(following: recorder)
            let session = SessionOf<Training>(Training(), sessionID: UUID(), over: Outer(wrapped: recorder))
            let following = inspector.follow(session, redacting: redactedTypes)
            defer { following.cancel() }
            var received = recorder.receiveEnvelopes().makeAsyncIterator()
            for (sequence, event) in [(1, Training.Event.lap(3)), (2, .beat(HeartRate()))] {
                let metadata = SessionSyncMetadata(
                    sessionID: session.sessionID, featureID: Training.featureID, sourcePeerID: "me",
                    sequence: UInt64(sequence), causalTimestamp: Date(), payloadType: "training.event")
                let envelope = SessionSyncEnvelope(metadata: metadata, payload: event)
                try await recorder.send(AnySessionSyncEnvelope(envelope), mode: .reliableEventually, to: nil)
                _ = await received.next()
            }
            while !inspector.recording.entries.contains(where: { $0.kind == .state }) { await Task.yield() }
            let recording = inspector.recording
            await recorder.close()
            await inspector.stop()
            return recording
        }

        @Test("a followed session's events are named where they are sent and where they are received")
        func events() async throws {
            let entries = try await recording(redacting: []).entries
            for step in [DiagnosticsEntry.Step.sent, .received] {
                #expect(
                    entries.filter { $0.step == step }.map(\.event) == [
                        #"{"lap":{"_0":3}}"#, #"{"beat":{"_0":{"rate":187187}}}"#,
                    ])
            }
            #expect(entries.first { $0.kind == .state }?.state == #"{"laps":0,"last":{"rate":187187}}"#)
        }

        @Test("a value of a redacted type is in no line of the recording")
        func redaction() async throws {
            let recording = try await recording(redacting: [HeartRate.self])
            #expect(recording.entries.compactMap(\.event).contains(#"{"beat":{"_0":"(redacted)"}}"#))
            #expect(
                recording.entries.first { $0.kind == .state }?.state == #"{"laps":0,"last":"(redacted)"}"#)
            #expect(!String(decoding: recording.jsonLines, as: UTF8.self).contains("187187"))
        }
    }
#endif
