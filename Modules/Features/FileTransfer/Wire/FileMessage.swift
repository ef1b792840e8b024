import Foundation
import MeshConnection

/// What travels with a file, whoever carries its bytes.
struct FileHeader: Codable, Hashable, Sendable {
    let id: UUID
    let name: String
    let byteCount: UInt64
    /// See `FileDigest`.
    let digest: String
    let metadata: [String: MetadataValue]?
    /// The platform moves it; no bytes are to be asked for.
    var isCarried: Bool

    /// JSON of a header: metadata and name together.
    static let bytesMax = 32 << 10
    static let byteCountMax = UInt64(Int64.max)
    /// Of a file whose sender has not said what is in it: whatever has come is whole.
    static let noDigest = ""

    /// As it is written to disk and handed to a carrier.
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

/// What two peers say to each other about one file. Everything may be lost, come twice or out of order: the sender
/// offers until it hears that the file was imported, and the receiver asks until it has everything.
enum FileMessage: Codable, Sendable {
    /// To the receiver. Again whenever nothing has been heard for a while.
    case offer(FileHeader, chunkBytesMax: Int)
    /// To the sender: what is wanted, beside everything below `held`, which is on disk.
    case ask(UUID, held: UInt64, ranges: [FileRange])
    /// To the receiver.
    case chunk(UUID, offset: UInt64, checksum: UInt64, bytes: Data)
    /// To the sender: all of it is there and waits for the app.
    case held(UUID)
    /// To the sender: the app has taken it.
    case imported(UUID)
    /// To the sender: nothing is kept of it.
    case refused(UUID, ConnectionError)
    /// To the sender: the platform has brought nothing yet.
    case missing(UUID)
    /// To the receiver: nobody is going to send it any more.
    case withdrawn(UUID)
    /// To the receiver: `imported` or `refused` has been heard and need not be remembered.
    case settled(UUID)
}

extension FileMessage {
    /// What the envelopes of files belong to.
    static let featureID = "sessionmesh.files"
    static let payloadType = "sessionmesh.file"
    /// What a payload has beside the bytes of a chunk, at most.
    static let chunkOverhead = 256
    /// Ranges of one `ask`.
    static let rangesMax = 64
}
