import Foundation
import MeshConnection
import MeshIdentity
import MeshTransport

/// Sends messages about requests as envelopes and snapshots.
struct RequestSender: Sendable {
    /// Approximate number of bytes of a message without its body and type.
    static let overheadBytes = 192

    let connection: any SessionConnection
    let clock: SteadyClock

    init(connection: any SessionConnection) {
        self.connection = connection
        clock = SteadyClock(connection.clock)
    }

    var transport: any SessionSyncTransport { connection.transport }
    var localPeerID: String { transport.localPeer.id }

    /// Milliseconds since 1970: the wall clock at launch plus the time since. So setting the clock moves no deadline.
    var wall: UInt64 { clock.now.millisecondsSince1970 }

    /// - Throws: `payloadTooLarge` if the transport would refuse the message later.
    func checkSize(of body: Data, type: String) throws(ConnectionError) {
        guard let limit = transport.capabilities.maximumPayloadSize else { return }
        let bytes = body.count + type.utf8.count + Self.overheadBytes
        guard bytes <= limit else {
            throw .payloadTooLarge(bytes: bytes, limit: limit, limitID: "transport.maximumPayloadSize")
        }
    }

    /// - Parameter eventID: the ID with which the transport can withdraw the message.
    func send(
        _ message: RequestMessage, eventID: UUID = UUID(), mode: SessionDeliveryMode, to peer: SessionPeer?
    ) async throws {
        let metadata = metadata(featureID: RequestMessage.featureID, eventID: eventID, stamp: connection.stamp())
        let envelope = try AnySessionSyncEnvelope(SessionSyncEnvelope(metadata: metadata, payload: message))
        try await transport.send(envelope, mode: mode, to: peer)
    }

    /// Replaces the contents of the slot for the message's type.
    func publish(_ message: RequestMessage, to peer: SessionPeer?) async throws {
        let stamp = connection.stamp()
        let feature = ContextFeature(requester: localPeerID, type: message.type)
        let snapshot = SessionSyncSnapshot(
            metadata: metadata(featureID: feature.featureID, stamp: stamp), revision: stamp.rawValue, state: message,
            peerSequenceVector: [:])
        try await transport.sendSnapshot(AnySessionSyncSnapshot(snapshot), mode: .latestSnapshot, to: peer)
    }

    /// Returns the local peer, or a peer that the transport has met.
    func peer(_ id: String) -> SessionPeer? {
        id == localPeerID ? transport.localPeer : transport.knownPeers.first { $0.id == id }
    }

    private func metadata(featureID: String, eventID: UUID? = nil, stamp: HybridTimestamp) -> SessionSyncMetadata {
        SessionSyncMetadata(
            sessionID: connection.sessionID, featureID: featureID, sourcePeerID: localPeerID, eventID: eventID,
            sequence: 0,
            causalTimestamp: connection.clock.wall, payloadType: RequestMessage.payloadType, stamp: stamp)
    }
}
