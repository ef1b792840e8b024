import Foundation
import MeshConnection

// The exchange of one file. The sender offers it, repeatedly, until it hears that the file was imported or refused. The
// receiver asks for ranges, gets one chunk for each, and reports `held` when the file is complete and `imported` when its
// app has taken it. The sender answers `settled`, and the receiver forgets the transfer. Any message may be lost,
// duplicated or reordered. A platform that carries the file replaces `ask` and `chunk`.

/// A file's description, which travels ahead of its chunks or along with a carried file.
struct FileHeader: Codable, Hashable, Sendable {
    let id: UUID
    let name: String
    let byteCount: UInt64
    /// The result of `FileDigest`, or `noDigest`.
    let digest: String
    let metadata: [String: MetadataValue]?
    /// True if the platform moves the file, so the receiver asks for no chunks.
    var isCarried: Bool

    /// Maximum number of bytes of a header as JSON, with name and metadata.
    static let bytesMax = 32 << 10
    static let byteCountMax = UInt64(Int64.max)
    /// Stands for an unknown digest. The receiver then verifies no digest.
    static let noDigest = ""

    /// Returns the header as JSON, to check its size.
    /// - Throws: `payloadTooLarge`, `encodingFailed`.
    func encoded() throws(ConnectionError) -> [UInt8] {
        let bytes: Data
        do { bytes = try JSONEncoder().encode(self) } catch { throw ConnectionError(error) }
        guard bytes.count <= Self.bytesMax else {
            throw .payloadTooLarge(bytes: bytes.count, limit: Self.bytesMax, limitID: "file.header")
        }
        return Array(bytes)
    }

    /// - Throws: `payloadTooLarge`, `decodingFailed`.
    init(decoding bytes: some Collection<UInt8>) throws(ConnectionError) {
        guard bytes.count <= Self.bytesMax else {
            throw .payloadTooLarge(bytes: bytes.count, limit: Self.bytesMax, limitID: "file.header")
        }
        do { self = try JSONDecoder().decode(Self.self, from: Data(bytes)) } catch { throw ConnectionError(error) }
    }

    init(
        id: UUID, name: String, byteCount: UInt64, digest: String, metadata: [String: MetadataValue]?, isCarried: Bool
    ) {
        self.id = id
        self.name = name
        self.byteCount = byteCount
        self.digest = digest
        self.metadata = metadata
        self.isCarried = isCarried
    }
}

struct FileRange: Codable, Hashable, Sendable {
    let offset: UInt64
    let count: Int
}

/// A message about one file between two peers.
enum FileMessage: Codable, Sendable {
    /// To the receiver. Repeated while the receiver is silent.
    case offer(FileHeader, chunkBytesMax: Int)
    /// To the sender: the ranges to send. Everything below `held` is on the receiver's disk.
    case ask(UUID, held: UInt64, ranges: [FileRange])
    /// To the receiver.
    case chunk(UUID, offset: UInt64, checksum: UInt64, bytes: Data)
    /// To the sender: the complete file is here and waits for the app.
    case held(UUID)
    /// To the sender: the app has taken the file.
    case imported(UUID)
    /// To the sender: the receiver keeps nothing of the file.
    case refused(UUID, ConnectionError)
    /// To the sender: the platform hasn't delivered the file.
    case missing(UUID)
    /// To the receiver: the file won't be sent.
    case withdrawn(UUID)
    /// To the receiver: the sender knows that the file was imported, so the receiver may forget it.
    case settled(UUID)
}

extension FileMessage {
    /// The feature ID of envelopes about files.
    static let featureID = "sessionmesh.files"
    static let payloadType = "sessionmesh.file"
    /// Maximum number of bytes in a chunk's payload in addition to the file's bytes.
    static let chunkOverhead = 256
    /// Maximum number of ranges in one `ask`.
    static let rangesMax = 64
}
