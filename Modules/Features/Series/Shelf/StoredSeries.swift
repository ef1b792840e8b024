import MeshStorage
import MeshWire

/// What a series is, as it lies in the store.
struct StoredSeries: Codable {
    var id: SeriesID
    var columns: [SeriesColumn]
}

/// What is known of a block without reading it.
struct StoredSpan: Codable {
    var byteCount: Int
    var summary: BlockSummary

    func isWellFormed(columnCount: Int) -> Bool {
        (0...SeriesLimits.blockBytesMax).contains(byteCount) && summary.count == SeriesLimits.blockSamples
            && summary.columns.count == columnCount
            && summary.columns.allSatisfy { (0...SeriesLimits.blockSamples).contains($0.count) }
    }
}

/// A piece of a block that is not whole, and where it begins.
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

/// Under which names a series lies in the store.
struct SeriesNames: Hashable, Sendable {
    /// What it is, and the beginning of the names of its journals.
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
