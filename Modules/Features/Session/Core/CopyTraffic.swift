import MeshBase
import MeshEngine
import MeshFoundation
import MeshIdentity

/// A part of a copy that is too large for one message.
///
/// Who has the copy says so by a piece without bytes; the newcomer asks for one stretch after the other, so that a break
/// costs what was under way, and what else is to be said goes in between.
struct CopyPiece: Hashable, Sendable, Codable {
    static let payloadType = "sessionmesh.copy"
    /// More bytes are in no piece.
    static let bytesMax = 32 << 10
    /// A transport may take every message to everybody.
    var receiver: String
    /// Names the copy; random.
    var copy: UInt64
    /// The bytes of all of it.
    var size: UInt64
    var offset: UInt64
    var bytes: [UInt8]
}

/// What the newcomer lacks of a copy next; an empty stretch at its end says that it lacks nothing more.
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

    /// Of the copy that it carries.
    var byteCount: Int { if case .piece(let piece) = self { piece.bytes.count } else { 0 } }
}

/// What a copy's pieces put together: what a snapshot with a copy has, without the state, which follows from the copy.
struct WholeCopy: Sendable, Codable {
    var metadata: SessionSyncMetadata
    var revision: UInt64
    var checkpoint: [UInt8]
}

/// Whose copy a session goes on from.
struct AdoptedCopy: Sendable {
    let metadata: SessionSyncMetadata
    let revision: UInt64
}

/// The copy that is kept for a newcomer, one at a time.
struct OfferedCopy: Sendable {
    /// For whom it was made: one that was made for an earlier life, or before others came, is of no use.
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
    let receiver: String
    let terms: Terms
    let bytes: [UInt8]

    /// Says that it is there.
    var announcement: CopyPiece {
        CopyPiece(receiver: receiver, copy: id, size: UInt64(bytes.count), offset: 0, bytes: [])
    }

    /// What is asked for, in pieces of at most that many bytes, and no more than a window of them.
    func pieces(_ request: CopyRequest, pieceBytes: Int) -> [CopyPiece] {
        guard request.first < request.end, request.end <= UInt64(bytes.count) else { return [] }
        let first = Int(request.first)
        let end = min(Int(request.end), first + ArrivingCopy.windowBytes)
        return stride(from: first, to: end, by: max(1, pieceBytes)).map { offset in
            var piece = announcement
            piece.offset = UInt64(offset)
            piece.bytes = Array(bytes[offset..<min(offset + pieceBytes, end)])
            return piece
        }
    }
}

/// What a newcomer has of a copy.
struct ArrivingCopy: Sendable {
    /// Bytes that are asked for and not there.
    static let windowBytes = 8 * CopyPiece.bytesMax

    let id: UInt64
    let sender: String
    let size: Int
    private(set) var bytes: [UInt8] = []
    private var requestedEnd = 0
    /// When the last bytes came.
    private(set) var heardAt: Date
    private var askedAt: Date
    /// How long after that what was under way counts as lost; doubled each time, as it may be a slow link.
    private var patience: Backoff

    init(_ piece: CopyPiece, from sender: String, size: Int, patience: Duration, at moment: Date) {
        id = piece.copy
        self.sender = sender
        self.size = size
        (heardAt, askedAt) = (moment, moment)
        self.patience = Backoff(from: patience, to: patience * 32)
    }

    var isComplete: Bool { bytes.count == size }
    var progress: SessionCopyProgress { SessionCopyProgress(receivedBytes: bytes.count, totalBytes: size) }

    /// What comes twice, or after one that is missing, is left out.
    mutating func take(_ piece: CopyPiece, at moment: Date) {
        guard !piece.bytes.isEmpty, piece.offset == UInt64(bytes.count), piece.bytes.count <= size - bytes.count
        else { return }
        bytes += piece.bytes
        heardAt = moment
        patience.reset()
    }

    /// What is to be asked for next: nil while enough is under way.
    mutating func nextRequest() -> CopyRequest? {
        guard requestedEnd < size, requestedEnd - bytes.count <= Self.windowBytes / 2 else { return nil }
        let first = requestedEnd
        requestedEnd = min(size, bytes.count + Self.windowBytes)
        return request(from: first)
    }

    /// The same once what was under way counts as lost; else nil.
    mutating func requestAgain(at moment: Date) -> CopyRequest? {
        guard !isComplete, abs(moment.timeIntervalSince(max(heardAt, askedAt))) >= patience.wait.seconds else {
            return nil
        }
        askedAt = moment
        _ = patience.next()
        requestedEnd = min(size, bytes.count + Self.windowBytes)
        return request(from: bytes.count)
    }

    private func request(from first: Int) -> CopyRequest {
        CopyRequest(receiver: sender, copy: id, first: UInt64(first), end: UInt64(requestedEnd))
    }
}
