package import Foundation
import MeshConnection
package import MeshIdentity

/// Helpers for a carrier whose peer knows neither file headers nor file messages.
package enum CarriedHeader {
    package static var featureID: String { FileMessage.featureID }

    /// Returns the sender's metadata as property-list values, or nil if the header can't be read.
    package static func metadata(in header: Data) -> [String: Any]? {
        (try? JSONDecoder().decode(FileOffer.self, from: header))?.header.metadata?.mapValues(\.plain)
    }

    /// Makes a header for a file that arrived without one. Only the file's size is known, not its digest.
    /// - Returns: nil if the file doesn't exist or its metadata is too large.
    package static func make(for file: URL, metadata: [String: Any]?, from peerID: String) -> Data? {
        guard let size = try? FileManager.default.attributesOfItem(atPath: file.path)[.size] as? NSNumber else {
            return nil
        }
        let header = FileHeader(
            id: UUID(), name: file.lastPathComponent, byteCount: size.uint64Value, digest: FileHeader.noDigest,
            metadata: metadata?.compactMapValues { try? MetadataValue($0) }, isCarried: true)
        guard (try? header.encoded()) != nil, let offer = FileOffer(header, from: peerID, chunkBytesMax: 1) else {
            return nil
        }
        return try? JSONEncoder().encode(offer)
    }

    /// Returns the ID of the carried file that a message offers, or nil for any other message.
    package static func carriedID(in envelope: AnySessionSyncEnvelope) -> UUID? {
        guard case .offer(let header, _) = try? envelope.decodePayload(as: FileMessage.self), header.isCarried else {
            return nil
        }
        return header.id
    }

    /// Makes an `imported` message on behalf of a peer that can't send one.
    package static func imported(
        _ id: UUID, from peerID: String, sessionID: UUID, at date: Date
    ) throws -> AnySessionSyncEnvelope {
        let metadata = SessionSyncMetadata(
            sessionID: sessionID, featureID: featureID, sourcePeerID: peerID, sequence: 0, causalTimestamp: date,
            payloadType: FileMessage.payloadType)
        return try AnySessionSyncEnvelope(SessionSyncEnvelope(metadata: metadata, payload: FileMessage.imported(id)))
    }
}
