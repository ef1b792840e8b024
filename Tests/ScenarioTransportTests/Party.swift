import Foundation
import MeshBus
import MeshIdentity
import MeshScenarioTransport
import MeshTransport

/// Peers by the letters a, b, c … and what they send.
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
        // The initializer throws nothing today.
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
}

extension ScenarioNetwork {
    /// The sequences or revisions that were delivered to that peer, in order.
    func delivered(to id: String, feature: String = "workout") -> [UInt64] {
        trace.compactMap { entry in
            guard entry.receiverID == id, entry.outcome == .delivered else { return nil }
            switch entry.subject {
            case .envelope(feature, let number), .snapshot(feature, let number): return number
            default: return nil
            }
        }
    }

    /// What that observer was told of reachability, in order.
    func told(_ observer: String, of peer: String) -> [Bool] {
        trace.compactMap { entry in
            guard entry.receiverID == observer, entry.senderID == peer,
                case .reachability(let isReachable) = entry.subject
            else { return nil }
            return isReachable
        }
    }
}

/// Everything that a stream still holds after its transport has been closed.
func drain<Element: Sendable>(_ stream: AsyncStream<Element>) async -> [Element] {
    var elements: [Element] = []
    for await element in stream { elements.append(element) }
    return elements
}
