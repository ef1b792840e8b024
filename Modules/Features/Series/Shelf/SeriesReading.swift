package import MeshStorage
import MeshWire

/// A series at one moment, to be read where that may take long.
package struct SeriesReading: Sendable {
    let stream: SeriesStream

    package var peerID: String { stream.id.peerID }

    /// Calls for each block that may have samples of those times, in the order of recording.
    ///
    /// - Parameter body: may throw to end it early.
    /// - Throws: `StorageError`, `WireError`, and what the body throws.
    package func forEachTable(
        in times: ClosedRange<Int64>, of store: any SessionStore, _ body: (SampleTable) throws -> Void
    ) throws {
        for position in stream.blocks(in: times) {
            if let block = try Self.block(position, of: stream, store) { try body(block) }
        }
        let rest = try stream.rest()
        if !rest.isEmpty { try body(rest) }
    }

    /// nil when it is not there any more, or not yet.
    static func bytes(_ position: UInt64, of stream: SeriesStream, _ store: any SessionStore) throws -> [UInt8]? {
        guard let entry = try store.entries(of: stream.names.blocks, from: position, maxBytes: 1).first,
            entry.position == position
        else { return nil }
        return entry.bytes
    }

    private static func block(
        _ position: UInt64, of stream: SeriesStream, _ store: any SessionStore
    ) throws -> SampleTable? {
        try bytes(position, of: stream, store).map { try SeriesBlock.table(from: $0, columns: stream.columns) }
    }
}

/// What a peer has asked for.
package struct SeriesServing: Sendable {
    package let reading: SeriesReading
    package let receiver: String
    package let samples: Range<UInt64>
    package let hasColumns: Bool

    /// The messages that answer it, each of not many more bytes than the limit.
    /// - Throws: `StorageError`, `WireError`.
    package func messages(from store: any SessionStore, limit: Int) throws -> [SeriesMessage] {
        let stream = reading.stream
        var messages: [SeriesMessage] = []
        var room = 0
        var isFirst = hasColumns
        func add(_ bytes: [UInt8], at first: UInt64) {
            if messages.isEmpty || bytes.count > room
                || messages[messages.count - 1].pieces.count >= SeriesMessage.piecesMax
            {
                messages.append(SeriesMessage(receiver: receiver))
                room = limit
            }
            let piece = SeriesMessage.Piece(
                id: stream.id, columns: isFirst ? stream.columns : nil, first: first, bytes: bytes)
            isFirst = false
            messages[messages.count - 1].pieces.append(piece)
            room -= bytes.count + 64
        }
        func add(_ table: SampleTable, at first: UInt64) {
            let bytes = SeriesBlock.bytes(of: table)
            guard bytes.count > limit, table.count > 1 else { return add(bytes, at: first) }
            let half = table.count / 2
            add(table[0..<half], at: first)
            add(table[half..<table.count], at: first + UInt64(half))
        }
        let end = min(samples.upperBound, stream.written)
        var next = max(samples.lowerBound, stream.first)
        while next < min(end, stream.wholeEnd) {
            let position = next / SeriesStream.blockSamples
            let offset = Int(next % SeriesStream.blockSamples)
            guard let bytes = try SeriesReading.bytes(position, of: stream, store) else { return messages }
            if offset == 0, bytes.count <= limit {
                add(bytes, at: next)
            } else {
                let table = try SeriesBlock.table(from: bytes, columns: stream.columns)
                add(table[offset..<table.count], at: next)
            }
            next += SeriesStream.blockSamples - UInt64(offset)
        }
        if next < end, next >= stream.wholeEnd {
            let table = try stream.tailTable(from: next)
            let count = Int(min(UInt64(table.count), end - next))
            if count > 0 { add(table[0..<count], at: next) }
        }
        return messages
    }
}
