package import Foundation
import MeshConnection
package import MeshIdentity

/// What a carrier needs whose other side knows nothing of headers, nor of messages about files.
package enum CarriedHeader {
    package static var featureID: String { FileMessage.featureID }

    /// What the app has said of the file, in values of a property list.
    package static func metadata(in header: Data) -> [String: Any]? {
        (try? JSONDecoder().decode(FileOffer.self, from: header))?.header.metadata?.mapValues(\.plain)
    }

    /// One for a file that came without: nothing is known of its bytes but how many there are.
    /// - Returns: nil when there is no file, or its metadata are too large.
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

    /// The file that a message says has been carried; nil for any other message.
    package static func carriedID(in envelope: AnySessionSyncEnvelope) -> UUID? {
        guard case .offer(let header, _) = try? envelope.decodePayload(as: FileMessage.self), header.isCarried else {
            return nil
        }
        return header.id
    }

    /// What the other side would say of it, if it could: that it has the file.
    package static func imported(
        _ id: UUID, from peerID: String, sessionID: UUID, at date: Date
    ) throws -> AnySessionSyncEnvelope {
        let metadata = SessionSyncMetadata(
            sessionID: sessionID, featureID: featureID, sourcePeerID: peerID, sequence: 0, causalTimestamp: date,
            payloadType: FileMessage.payloadType)
        return try AnySessionSyncEnvelope(SessionSyncEnvelope(metadata: metadata, payload: FileMessage.imported(id)))
    }
}
