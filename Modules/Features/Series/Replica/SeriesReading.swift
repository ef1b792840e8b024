package import MeshStorage
import MeshWire

/// A snapshot of a series that another thread can read.
package struct SeriesReading: Sendable {
    let stream: SeriesStream

    package var peerID: String { stream.id.peerID }

    /// Passes on each block that may have samples in a time span, in the order of recording.
    ///
    /// - Parameter body: called for each block. May throw to stop early.
    /// - Throws: `StorageError`, `WireError`, and errors of the body.
    package func forEachTable(
        in times: ClosedRange<Int64>, of store: any SessionStore, _ body: (SampleTable) throws -> Void
    ) throws {
        for position in stream.blocks(in: times) {
            guard let block = try stream.block(position, from: store) else { continue }
            try body(SeriesBlock.table(from: block, columns: stream.columns))
        }
        let rest = try stream.inMemoryTable()
        if !rest.isEmpty { try body(rest) }
    }
}

extension SeriesStream {
    /// Returns a complete block, written or not; nil if the store has lost it.
    func block(_ position: UInt64, from store: any SessionStore) throws -> [UInt8]? {
        if let bytes = unwrittenBlocks[position] { return bytes }
        guard let entry = try store.entries(of: names.blocks, from: position, maxBytes: 1).first,
            entry.position == position
        else { return nil }
        return entry.bytes
    }
}

/// The samples that a peer has requested.
package struct SeriesResponse: Sendable {
    package let receiver: String
    var parts: [Part] = []

    struct Part: Sendable {
        let stream: SeriesStream
        let samples: Range<UInt64>
        let hasColumns: Bool
    }

    init(receiver: String) { self.receiver = receiver }

    /// Returns the messages that answer the requests, each of about `limit` bytes at most.
    /// - Throws: `StorageError`, `WireError`.
    package func messages(from store: any SessionStore, limit: Int) throws -> [SeriesMessage] {
        var answer = PiecePacker(receiver: receiver, limit: limit)
        for part in parts { try answer.add(part, from: store) }
        return answer.messages
    }
}

/// Packs pieces into as few messages as possible.
private struct PiecePacker {
    let receiver: String
    let limit: Int
    private(set) var messages: [SeriesMessage] = []
    /// Number of bytes that still fit into the last message.
    private var remainingBytes = 0

    init(receiver: String, limit: Int) {
        self.receiver = receiver
        self.limit = limit
    }

    mutating func add(_ part: SeriesResponse.Part, from store: any SessionStore) throws {
        let stream = part.stream
        var columns = part.hasColumns ? stream.columns : nil
        let end = min(part.samples.upperBound, stream.written)
        var next = max(part.samples.lowerBound, stream.first)
        while next < min(end, stream.completeEnd) {
            let offset = Int(next % SeriesStream.blockSamples)
            guard let bytes = try stream.block(next / SeriesStream.blockSamples, from: store) else { return }
            if offset == 0, bytes.count <= limit {
                add(bytes, of: stream.id, at: next, &columns)
            } else {
                let table = try SeriesBlock.table(from: bytes, columns: stream.columns)
                add(table[offset..<table.count], of: stream.id, at: next, &columns)
            }
            next += SeriesStream.blockSamples - UInt64(offset)
        }
        guard next < end, next >= stream.completeEnd else { return }
        let table = try stream.tailTable(from: next)
        let count = Int(min(UInt64(table.count), end - next))
        if count > 0 { add(table[0..<count], of: stream.id, at: next, &columns) }
    }

    private mutating func add(
        _ table: SampleTable, of id: SeriesID, at first: UInt64, _ columns: inout [SeriesColumn]?
    ) {
        let bytes = SeriesBlock.bytes(of: table)
        guard bytes.count > limit, table.count > 1 else { return add(bytes, of: id, at: first, &columns) }
        let half = table.count / 2
        add(table[0..<half], of: id, at: first, &columns)
        add(table[half..<table.count], of: id, at: first + UInt64(half), &columns)
    }

    /// - Parameter columns: sent with the first piece only.
    private mutating func add(_ bytes: [UInt8], of id: SeriesID, at first: UInt64, _ columns: inout [SeriesColumn]?) {
        let piece = SeriesMessage.Piece(id: id, columns: columns, first: first, bytes: bytes)
        let size = piece.estimatedByteCount
        if size > remainingBytes || messages.last?.pieces.count == SeriesMessage.piecesMax {
            messages.append(SeriesMessage(receiver: receiver))
            remainingBytes = limit
        }
        messages[messages.count - 1].pieces.append(piece)
        remainingBytes -= min(size, remainingBytes)
        columns = nil
    }
}
