import Foundation
import MeshBase
import MeshBenchmarks
import MeshConnection
import MeshIdentity
import MeshSharedState
import MeshTransport
import MeshWire

/// The cost on the wire of changing a shared state, for each kind of merge: `plugins-tool bench state`.
///
/// One of two peers changes a part of the value and waits for the other's acknowledgement, ten times. The benchmark counts
/// the bytes that a platform must hold if it keeps only the newest of each state. That is the whole frame of one snapshot by
/// the compact codec, without interning, with and without zlib.
struct StateBenchmark {
    static let benchmarkCase = BenchmarkCase(
        id: "state", summary: "Bytes that one change of a shared state costs, by merge, beside an application context",
        run: { context in try await StateBenchmark(context: context).rows() })

    private static let updateCount = 10

    let context: BenchmarkContext

    func rows() async throws -> [BenchmarkRow] {
        var rows: [BenchmarkRow] = []
        for sample in StateSample.all {
            for merge in StateSample.Merge.allCases {
                context.report("state: \(sample.name), \(merge.rawValue)")
                let sizes = try await Self.sizes(sample, merge)
                let limit = PayloadLimit.wcSessionApplicationContext.bytes
                let median = sizes.updates.sorted { $0.plain < $1.plain }[sizes.updates.count / 2]
                rows.append([
                    "state": .text(sample.name), "merge": .text(merge.rawValue),
                    "valueBytes": .integer(sample.jsonBytes), "firstBytes": .integer(sizes.first.plain),
                    "updateBytes": .integer(median.plain), "updateBytesZlib": .integer(median.compressed),
                    "contextBytes": .integer(limit), "updatesPerContext": .integer(limit / max(median.plain, 1)),
                ])
            }
        }
        return rows
    }

    struct Sizes {
        var first: CountingTransport.Size
        var updates: [CountingTransport.Size]
    }

    /// - Throws: `StateBenchmarkError` if a change is not acknowledged.
    @MainActor
    static func sizes(_ sample: StateSample, _ merge: StateSample.Merge) async throws -> Sizes {
        let (asking, answering) = CountingTransport.pair()
        let connections = [asking, answering].map { TransportConnection(transport: $0) }
        let states = connections.map {
            SharedState(initialValue: sample.value, connection: $0, id: sample.name, merge: merge.merge)
        }
        var sizes: [CountingTransport.Size] = []
        for number in 0...updateCount {
            var value = states[0].value
            sample.change(&value, number)
            // Two peers that meet may send each other everything twice: once unasked and once on request.
            for _ in 0..<1000 { await Task.yield() }
            _ = asking.takeSizes()
            try states[0].update(value)
            var patience = 100_000
            while !states[0].isSynced, patience > 0 {
                await Task.yield()
                patience -= 1
            }
            guard states[0].isSynced, states[1].value == value else { throw StateBenchmarkError.notAcknowledged }
            sizes += asking.takeSizes().prefix(1)
        }
        return Sizes(first: sizes[0], updates: Array(sizes.dropFirst()))
    }
}

enum StateBenchmarkError: Error, CustomStringConvertible {
    case notAcknowledged

    var description: String { "a change did not arrive" }
}

/// A value that apps share, and a change of it.
struct StateSample: Sendable, CustomStringConvertible {
    enum Merge: String, CaseIterable, Sendable {
        case whole, fields, custom

        var merge: SharedStateMerge<[String: String]> {
            switch self {
            case .whole: .whole
            case .fields: .fields
            case .custom: .custom { older, newer in older.merging(newer) { $1 } }
            }
        }
    }

    let name: String
    let value: [String: String]
    let change: @Sendable (inout [String: String], Int) -> Void

    var description: String { name }
    var jsonBytes: Int { (try? JSONEncoder().encode(value).count) ?? 0 }

    static let all = [settings, workout, document]

    /// A dictionary of 40 fields, of which one changes.
    private static let settings = StateSample(
        name: "settings",
        value: Dictionary(uniqueKeysWithValues: (0..<40).map { ("setting\($0)", "value \($0 * 37 % 11)") })
    ) { value, number in value["setting\(number % 40)"] = "changed \(number)" }

    /// The fields that a workout shows, of which three change.
    private static let workout = StateSample(
        name: "workout",
        value: [
            "id": "6F9619FF-8B86-D011-B42D-00CF4FC964FF", "kind": "running.outdoor", "phase": "active",
            "startedAt": "2026-01-01T08:00:00Z", "elapsed": "0", "distance": "0", "heartRate": "0", "pace": "0",
            "energy": "0", "step": "warm-up", "route": "river", "device": "watch",
        ]
    ) { value, number in
        value["elapsed"] = "\(number * 5 + 1)"
        value["distance"] = "\(number * 17 + 3)"
        value["heartRate"] = "\(120 + number)"
    }

    /// A document with 64 KiB of constant text and a changing title.
    private static let document = StateSample(
        name: "document", value: ["title": "Untitled", "text": StateSample.text(bytes: 65_536)]
    ) { value, number in value["title"] = "Draft \(number)" }

    /// Returns text from a small vocabulary, which compresses about as well as real text.
    private static func text(bytes: Int) -> String {
        var random = SplitMix64(seed: 1)
        let words = (0..<2000).map { _ in
            String((0..<2 + random.next() % 8).map { _ in Character(UnicodeScalar(UInt8(97 + random.next() % 26))) })
        }
        var text = ""
        while text.utf8.count < bytes { text += words[Int(random.next() % 2000)] + " " }
        return text
    }
}

/// One of two connected ends in one process. It delivers everything at once and counts the snapshots it sends.
final class CountingTransport: SessionSyncTransport {
    struct Size: Sendable {
        var plain: Int
        var compressed: Int
    }

    private struct State {
        var other: TransportInbox?
        var sizes: [Size] = []
    }

    let localPeer: SessionPeer
    let knownPeers: [SessionPeer]
    private let inbox = TransportInbox()
    private let state = Locked(State())

    static func pair() -> (CountingTransport, CountingTransport) {
        let peers = ["phone", "watch"].map {
            SessionPeer(id: $0, deviceClass: .unknown, appInstanceID: $0, topology: .sameHost)
        }
        let first = CountingTransport(peers[0], knows: peers[1])
        let second = CountingTransport(peers[1], knows: peers[0])
        first.connect(second)
        second.connect(first)
        return (first, second)
    }

    private init(_ peer: SessionPeer, knows other: SessionPeer) {
        localPeer = peer
        knownPeers = [other]
    }

    private func connect(_ other: CountingTransport) { state.withLock { $0.other = other.inbox } }

    /// Returns the sizes of the snapshots sent since the last call.
    func takeSizes() -> [Size] {
        state.withLock { state in
            defer { state.sizes = [] }
            return state.sizes
        }
    }

    var capabilities: SessionTransportCapabilities {
        SessionTransportCapabilities(
            supportsRealtime: true, supportsDurableQueue: false, supportsLatestStateReplacement: true,
            supportsRequestReply: false, supportsBroadcast: true, supportsPeerDiscovery: false, maximumPayloadSize: nil,
            expectedLatency: .realtime)
    }

    func send(_ envelope: AnySessionSyncEnvelope, mode: SessionDeliveryMode, to peer: SessionPeer?) async throws {
        state.withLock { $0.other }?.deliver(envelope)
    }

    func sendSnapshot(
        _ snapshot: AnySessionSyncSnapshot, mode: SessionDeliveryMode, to peer: SessionPeer?
    ) async throws {
        let size = Size(
            plain: try Self.frameBytes(snapshot, .stored), compressed: try Self.frameBytes(snapshot, .zlib()))
        let other = state.withLock { state in
            state.sizes.append(size)
            return state.other
        }
        other?.deliver(snapshot)
    }

    private static func frameBytes(_ snapshot: AnySessionSyncSnapshot, _ compression: CompressionPolicy) throws -> Int {
        var encoder = FrameEncoder(codec: CompactCodec(), compression: compression)
        return try encoder.encode(.snapshot(snapshot)).count
    }

    func requestSnapshot(sessionID: UUID, from peer: SessionPeer?) async throws {
        state.withLock { $0.other }?.deliver(SessionSnapshotRequest(sessionID: sessionID, requester: localPeer))
    }

    func receiveEnvelopes() -> AsyncStream<AnySessionSyncEnvelope> { inbox.receiveEnvelopes() }
    func receiveSnapshots() -> AsyncStream<AnySessionSyncSnapshot> { inbox.receiveSnapshots() }
    func receiveSnapshotRequests() -> AsyncStream<SessionSnapshotRequest> { inbox.receiveSnapshotRequests() }
    func reachabilityChanges() -> AsyncStream<SessionPeerReachability> { inbox.reachabilityChanges() }
    func close() async { inbox.close() }
}
