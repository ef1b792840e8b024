import MeshStorage
import MeshWire

/// The description of a series in the store.
struct StoredSeries: Codable {
    var id: SeriesID
    var columns: [SeriesColumn]
}

/// A block's size and summary, known without reading the block.
struct StoredSpan: Codable {
    var byteCount: Int
    var summary: BlockSummary

    func isWellFormed(columnCount: Int) -> Bool {
        (0...SeriesLimits.blockBytesMax).contains(byteCount) && summary.count == SeriesLimits.blockSamples
            && summary.columns.count == columnCount
            && summary.columns.allSatisfy { (0...SeriesLimits.blockSamples).contains($0.count) }
    }
}

/// A piece of an incomplete block, and the number of its first sample.
struct StoredPiece {
    var first: UInt64
    var block: [UInt8]

    init(first: UInt64, block: [UInt8]) {
        self.first = first
        self.block = block
    }

    init(bytes: [UInt8]) throws(WireError) {
        let result = bytes.withUnsafeBytes { bytes in
            Result<StoredPiece, WireError> { () throws(WireError) in
                var reader = WireReader(bytes)
                let first = try reader.readVarint()
                return StoredPiece(first: first, block: Array(try reader.readRaw(reader.remaining)))
            }
        }
        self = try result.get()
        guard first <= SeriesMessage.highest else { throw WireError(.corrupted, "a piece from sample \(first) on") }
    }

    var bytes: [UInt8] {
        var writer = WireWriter(capacity: block.count + 10)
        writer.writeVarint(first)
        writer.writeRaw(block)
        return writer.array()
    }
}

/// The names of a series in the store.
struct SeriesNames: Hashable, Sendable {
    /// The key of its `StoredSeries`, and the prefix of its journals' names.
    let head: String
    let blocks: String
    let spans: String
    let tail: String

    init(prefix: String, number: Int) {
        head = "\(prefix)\(number)"
        blocks = "\(head)/blocks"
        spans = "\(head)/spans"
        tail = "\(head)/tail"
    }
}
