import Foundation
import MeshBase
import MeshIdentity
import MeshScenarioTransport
import MeshTestSupport
import MeshTransport
import Testing

/// Peers named by the letters a, b, c …, and the messages that they send.
enum Party {
    static let session = UUID(uuidString: "00000000-0000-8000-8000-000000000007")!

    static func peer(_ id: String) -> SessionPeer {
        SessionPeer(id: id, deviceClass: .unknown, appInstanceID: "1", topology: .sameHost)
    }

    static func metadata(_ sequence: UInt64, from id: String, feature: String) -> SessionSyncMetadata {
        SessionSyncMetadata(
            sessionID: session, featureID: feature, sourcePeerID: id, sequence: sequence,
            causalTimestamp: Date(timeIntervalSince1970: 1_000), payloadType: "text")
    }

    static func envelope(_ sequence: UInt64, from id: String, feature: String = "workout") -> AnySessionSyncEnvelope {
        // The initializer doesn't throw today.
        try! AnySessionSyncEnvelope(
            SessionSyncEnvelope(metadata: metadata(sequence, from: id, feature: feature), payload: "event"))
    }

    static func snapshot(_ revision: UInt64, from id: String, feature: String = "workout") -> AnySessionSyncSnapshot {
        try! AnySessionSyncSnapshot(
            SessionSyncSnapshot(
                metadata: metadata(revision, from: id, feature: feature), revision: revision, state: "state",
                peerSequenceVector: [id: revision]))
    }
}

extension ScenarioSessionSyncTransport {
    func send(
        _ sequence: UInt64, feature: String = "workout", _ mode: SessionDeliveryMode, to peer: SessionPeer? = nil
    ) async throws {
        try await send(Party.envelope(sequence, from: localPeer.id, feature: feature), mode: mode, to: peer)
    }

    func publish(_ revision: UInt64, feature: String = "workout", to peer: SessionPeer? = nil) async throws {
        try await sendSnapshot(
            Party.snapshot(revision, from: localPeer.id, feature: feature), mode: .latestSnapshot, to: peer)
    }

    /// The transport's reachability changes until it closes, in order.
    func reachability(of peer: SessionPeer) -> Listener<SessionPeerReachability> { Listener(reachabilityChanges()) }
}

/// Collects the elements of a stream as they arrive.
final class Listener<Element: Sendable>: Sendable {
    private let heard = Locked<[Element]>([])
    private let task: Task<Void, Never>

    init(_ stream: AsyncStream<Element>) {
        task = Task { [heard] in for await element in stream { heard.withLock { $0.append(element) } } }
    }

    deinit { task.cancel() }

    /// Waits until `count` elements have come. The task that takes them out of the stream needs time to run.
    func first(_ count: Int, sourceLocation: SourceLocation = #_sourceLocation) async -> [Element] {
        await eventually { heard.withLock { $0.count >= count } }
        let elements = heard.withLock { $0 }
        if elements.count < count { Issue.record("\(elements.count) of \(count) came", sourceLocation: sourceLocation) }
        return elements
    }

    /// All elements, once the transport has closed.
    func all() async -> [Element] {
        await task.value
        return heard.withLock { $0 }
    }
}

extension Listener where Element == AnySessionSyncEnvelope {
    convenience init(_ transport: ScenarioSessionSyncTransport) { self.init(transport.receiveEnvelopes()) }

    func sequences(_ count: Int, sourceLocation: SourceLocation = #_sourceLocation) async -> [UInt64] {
        await first(count, sourceLocation: sourceLocation).map(\.metadata.sequence)
    }
}

extension [AnySessionSyncEnvelope] {
    func sequences(of feature: String = "workout") -> [UInt64] {
        filter { $0.metadata.featureID == feature }.map(\.metadata.sequence)
    }
}
