import Foundation
import MeshEngine
import MeshIdentity
import MeshSeries
import MeshTransport

/// The encoding of outgoing messages: as `ShortForm` if all receivers read it.
extension SessionCore {
    /// Encodes a control in the shortest form that the receiver reads; nil means every peer.
    func encoded(_ control: SessionSyncEnvelope<SessionControl>, for peerID: String?) throws -> AnySessionSyncEnvelope {
        var control = control
        if configuration.usesShortForms { control.payload.reads = 1 }
        guard readsShortForms(peerID) else { return try AnySessionSyncEnvelope(control) }
        var metadata = control.metadata
        metadata.payloadType = ShortForm.controlType
        // The event ID follows from the stamp, which no two controls share.
        metadata.explicitEventID = nil
        let payload = try ShortForm(control.payload, of: engine.source)
        return try AnySessionSyncEnvelope(SessionSyncEnvelope(metadata: metadata, payload: payload))
    }

    /// Returns true if that peer reads `ShortForm`; for nil, if every peer that the transport knows does.
    private func readsShortForms(_ peerID: String?) -> Bool {
        guard configuration.usesShortForms else { return false }
        let peerIDs = peerID.map { [$0] } ?? moment.knownPeers.map(\.id)
        return !peerIDs.isEmpty && peerIDs.allSatisfy { heard[$0]?.readsShortForms == true }
    }

    func encoded(_ message: EphemeralMessage) throws -> AnySessionSyncEnvelope {
        guard readsShortForms(nil), let payload = ShortForm(message.samples, of: engine.source, at: shortStamp)
        else {
            return try envelope(of: message, as: EphemeralMessage.payloadType)
        }
        return try envelope(of: payload, named: ShortForm.shownType)
    }

    func encoded(_ message: SeriesMessage) throws -> AnySessionSyncEnvelope {
        guard readsShortForms(message.receiver) else {
            return try envelope(of: message, as: SeriesMessage.payloadType)
        }
        let receivers = seriesPeers
        let payload = try ShortForm(message, of: engine.localPeerID) {
            message.canUseDigests && series.isKnown($0, by: receivers)
        }
        return try envelope(of: payload, named: ShortForm.seriesType)
    }

    private var shortStamp: HybridTimestamp { HybridTimestamp(milliseconds: moment.now.millisecondsSince1970) }

    /// Wraps a short form without an event ID, which would cost 16 bytes.
    private func envelope(of payload: ShortForm, named payloadType: String) throws -> AnySessionSyncEnvelope {
        let metadata = SessionSyncMetadata(
            protocolVersion: SessionSyncProtocol.currentVersion, sessionID: engine.sessionID,
            featureID: engine.featureID, sourcePeerID: engine.localPeerID, explicitEventID: nil, sequence: 0,
            causalTimestamp: moment.now, monotonicTimestamp: nil, payloadType: payloadType, acknowledgedSequence: nil,
            stamp: shortStamp,
            incarnation: engine.source.incarnation, epoch: 0, promise: nil)
        return try AnySessionSyncEnvelope(SessionSyncEnvelope(metadata: metadata, payload: payload))
    }
}
