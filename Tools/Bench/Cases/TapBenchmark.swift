import Foundation
import MeshBenchmarks
import MeshEngine
import MeshIdentity
import MeshScenarioTransport
import MeshSession
import MeshTesting
import MeshWire

/// The time and bytes of a tap in a session without peers: `plugins-tool bench taps`.
///
/// `digest` is the added cost of comparing states at each milestone, for a state of 3 to 10 KB.
@MainActor struct TapBenchmark {
    nonisolated static let benchmarkCase = BenchmarkCase(
        id: "taps", summary: "CPU and bytes of a thousand taps in a session: submit, encode, decode, digests"
    ) { context in try await TapBenchmark(context: context).rows() }

    private typealias Session = SyncedSession<
        SampleWorkout, SampleEvent, TapReducer, AcceptingConflictPolicy<SampleWorkout, SampleEvent>
    >

    let context: BenchmarkContext

    private func rows() throws -> [BenchmarkRow] {
        let event = SamplePayloads.event()
        let (codec, workout) = (CompactCodec(), SamplePayloads.workout())
        let bytes = try codec.encode(event)
        let session = makeSession(workout)
        let moment = Date(timeIntervalSince1970: 1_767_225_600)
        // Not in batches of a stopwatch: without confirmations the session would fill up.
        let count = 20_000
        let start = ContinuousClock.now
        for _ in 0..<count { try session.submit(event, at: moment) }
        let submit = (ContinuousClock.now - start) / .nanoseconds(1) / Double(count)
        let watch = context.stopwatch
        return [
            row("submit", submit, 0),
            row("encode", try watch.nanoseconds { try codec.encode(event) }, bytes.count),
            row("decode", try watch.nanoseconds { try codec.decode(SampleEvent.self, from: bytes) }, bytes.count),
            row(
                "digest", watch.nanoseconds { CompactCodec.canonicalDigest(of: workout) },
                try CompactCodec(mode: .deterministic, usesDirectPath: false).encode(workout).count, per: 32),
        ]
    }

    private func row(_ step: String, _ nanoseconds: Double, _ bytes: Int, per interval: Double = 1) -> BenchmarkRow {
        [
            "step": .text(step), "nanoseconds": .number(nanoseconds), "bytes": .number(Double(bytes)),
            "microsecondsPerThousandTaps": .number(nanoseconds / interval),
        ]
    }

    private func makeSession(_ state: SampleWorkout) -> Session {
        let peer = SessionPeer(id: "a", deviceClass: .phone, appInstanceID: "a", topology: .sameHost)
        var configuration = SyncedSessionConfiguration<SampleWorkout, SampleEvent>()
        configuration.outgoingMax = .max
        return Session(
            sessionID: UUID(), featureID: "taps", transport: ScenarioNetwork(seed: 1).makeTransport(localPeer: peer),
            initialState: state, reducer: TapReducer(), conflictPolicy: AcceptingConflictPolicy(),
            configuration: configuration)
    }
}

private struct TapReducer: SessionSyncReducer {
    func reduce(state: inout SampleWorkout, event: SampleEvent, context: SessionEventContext) {}
}
