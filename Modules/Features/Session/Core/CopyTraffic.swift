import MeshBase
import MeshEngine
import MeshFoundation
import MeshIdentity

// Copies that are too large for one message go in pieces (Convergence.md, rule 7). The receiver drives a window:
//
// 1. The sender announces the copy with a piece without bytes.
// 2. The newcomer requests one range after another, up to a window of 256 KiB ahead of what it has.
// 3. The sender answers with pieces of at most 32 KiB. The newcomer accepts them in order only (go-back-N).
// 4. If nothing arrives in time, the newcomer requests again, from its last byte on. The wait doubles with each try.
// 5. An empty range at the end tells the sender that the newcomer has everything.
// Docs/Internals/Glossary.md defines the terms.

/// A part of a copy that is too large for one message.
///
/// A broken connection costs only the pieces in flight, and other messages can leave between two pieces.
struct CopyPiece: Hashable, Sendable, Codable {
    static let payloadType = "sessionmesh.copy"
    /// Maximum number of bytes of a piece.
    static let bytesMax = 32 << 10
    /// The addressed peer, because a transport may send every message to all peers.
    var receiver: String
    /// The random ID of the copy.
    var copy: UInt64
    /// Number of bytes of the complete copy.
    var size: UInt64
    var offset: UInt64
    var bytes: [UInt8]
}

/// A newcomer's request for the next range of a copy. An empty range at the end says that it has everything.
struct CopyRequest: Hashable, Sendable, Codable {
    static let payloadType = "sessionmesh.copy.request"
    var receiver: String
    var copy: UInt64
    var first: UInt64
    var end: UInt64
}

enum CopyMessage: Hashable, Sendable {
    case piece(CopyPiece)
    case request(CopyRequest)

    var receiver: String {
        switch self {
        case .piece(let piece): piece.receiver
        case .request(let request): request.receiver
        }
    }

    /// Number of bytes of the copy in this message.
    var byteCount: Int { if case .piece(let piece) = self { piece.bytes.count } else { 0 } }
}

/// The bytes of all pieces, decoded: a snapshot that contains a copy. Omits the state, which follows from the copy.
struct CopyContent: Sendable, Codable {
    var metadata: SessionSyncMetadata
    var revision: UInt64
    var checkpoint: [UInt8]
}

/// The origin of a copy that this session has adopted.
struct AdoptedCopy: Sendable {
    let metadata: SessionSyncMetadata
    let revision: UInt64
}

/// The copy that a session keeps for newcomers. Those that ask on the same terms share it, so that one doesn't replace
/// the copy of another.
struct OfferedCopy: Sendable {
    /// The conditions under which a copy is usable: by one incarnation of the newcomer, until others join.
    struct Terms: Equatable, Sendable {
        var group: SessionSource?
        var membership: SessionMembership
        var echoes: [LivenessToken]

        init<State, Event>(_ checkpoint: SessionCheckpoint<State, Event>) {
            group = checkpoint.control.group
            membership = checkpoint.membership
            echoes = checkpoint.control.echoes
        }
    }

    let id: UInt64
    /// The newcomers that haven't said that they have everything. Each is a member of the group.
    var receivers: Set<String>
    let terms: Terms
    let bytes: [UInt8]

    /// Returns the piece without bytes that announces the copy.
    func announcement(to receiver: String) -> CopyPiece {
        CopyPiece(receiver: receiver, copy: id, size: UInt64(bytes.count), offset: 0, bytes: [])
    }

    /// Returns the requested range in pieces of at most `pieceBytes`, limited to one window.
    func pieces(_ request: CopyRequest, to receiver: String, pieceBytes: Int) -> [CopyPiece] {
        guard request.first < request.end, request.end <= UInt64(bytes.count) else { return [] }
        let first = Int(request.first)
        let end = min(Int(request.end), first + ArrivingCopy.windowBytes)
        return stride(from: first, to: end, by: max(1, pieceBytes)).map { offset in
            var piece = announcement(to: receiver)
            piece.offset = UInt64(offset)
            piece.bytes = Array(bytes[offset..<min(offset + pieceBytes, end)])
            return piece
        }
    }
}

/// The part of a copy that a newcomer has received.
struct ArrivingCopy: Sendable {
    /// Maximum number of bytes that are requested ahead.
    static let windowBytes = 8 * CopyPiece.bytesMax

    let id: UInt64
    let sender: String
    let size: Int
    private(set) var bytes: [UInt8] = []
    private var requestedEnd = 0
    /// The time at which the last bytes arrived.
    private(set) var heardAt: Date
    private var requestedAt: Date
    /// Time without bytes after which requested pieces count as lost. Doubles with each try: the link may be slow.
    private var retryBackoff: Backoff

    init(_ piece: CopyPiece, from sender: String, size: Int, retryAfter delay: Duration, at moment: Date) {
        id = piece.copy
        self.sender = sender
        self.size = size
        (heardAt, requestedAt) = (moment, moment)
        retryBackoff = Backoff(from: delay, to: delay * 32)
    }

    var isComplete: Bool { bytes.count == size }
    var progress: SessionCopyProgress { SessionCopyProgress(receivedBytes: bytes.count, totalBytes: size) }

    /// Appends a piece. Ignores duplicates, and pieces that come after a missing one.
    mutating func append(_ piece: CopyPiece, at moment: Date) {
        guard !piece.bytes.isEmpty, piece.offset == UInt64(bytes.count), piece.bytes.count <= size - bytes.count
        else { return }
        bytes += piece.bytes
        heardAt = moment
        retryBackoff.reset()
    }

    /// Returns the next request; nil while enough is in flight.
    mutating func nextRequest() -> CopyRequest? {
        guard requestedEnd < size, requestedEnd - bytes.count <= Self.windowBytes / 2 else { return nil }
        let first = requestedEnd
        requestedEnd = min(size, bytes.count + Self.windowBytes)
        return request(from: first)
    }

    /// Returns a request for everything in flight if it counts as lost; otherwise nil.
    mutating func requestAgain(at moment: Date) -> CopyRequest? {
        guard !isComplete, abs(moment.timeIntervalSince(max(heardAt, requestedAt))) >= retryBackoff.wait.seconds else {
            return nil
        }
        requestedAt = moment
        _ = retryBackoff.next()
        requestedEnd = min(size, bytes.count + Self.windowBytes)
        return request(from: bytes.count)
    }

    private func request(from first: Int) -> CopyRequest {
        CopyRequest(receiver: sender, copy: id, first: UInt64(first), end: UInt64(requestedEnd))
    }
}
