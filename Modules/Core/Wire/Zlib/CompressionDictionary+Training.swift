// Dictionary training: a greedy cover after Liao, Petri, Moffat, Wirth: *Effective Construction of Relative Lempel-Ziv
// Dictionaries* (2016).
// - The worth of a string of six bytes is the number of samples, beyond the first, that contain it.
// - The samples are cut at strings without worth. In the paper all pieces have one length; here they end where repetition
//   does.
// - Pieces are taken by worth, not counting strings that earlier pieces cover. The best come last in the dictionary.

extension CompressionDictionary {
    /// Creates a dictionary from samples of the data to compress, such as the bodies of a hundred small frames.
    ///
    /// Equal samples give equal dictionaries. Uses the first 2 MiB of samples and the 4096 best pieces. Takes some seconds.
    /// - Parameter maximumBytes: Maximum size, clamped to 64…32,768.
    /// - Throws: `invalidValue` if the samples have nothing in common.
    package static func trained(
        from samples: [[UInt8]], maximumBytes: Int = CompressionDictionary.bytesMax
    ) throws(WireError) -> CompressionDictionary {
        var training = DictionaryTraining(samples)
        let bytes = training.chosen(maximumBytes: min(max(maximumBytes, 64), bytesMax))
        guard !bytes.isEmpty else { throw WireError(.invalidValue, "the samples have nothing in common") }
        return try CompressionDictionary(bytes)
    }
}

private struct DictionaryTraining {
    private struct Piece {
        var bytes: ArraySlice<UInt8>
        var worth: Int
    }

    private static let grain = 6
    private static let pieceBytesMax = 256
    private static let piecesMax = 4096
    private static let sampleBytesMax = 2 << 20

    private var samples: [[UInt8]] = []
    /// The number of samples, beyond the first, that contain a string.
    private var worth: [UInt64: Int] = [:]

    init(_ all: [[UInt8]]) {
        var remaining = Self.sampleBytesMax
        for sample in all where remaining > 0 {
            samples.append(Array(sample.prefix(remaining)))
            remaining -= sample.count
        }
        var lastSeen: [UInt64: Int] = [:]
        for (index, sample) in samples.enumerated() {
            for key in Self.keys(of: sample[...]) {
                if let last = lastSeen[key], last != index { worth[key, default: 0] += 1 }
                lastSeen[key] = index
            }
        }
    }

    /// Returns the best pieces, the best one last.
    mutating func chosen(maximumBytes: Int) -> [UInt8] {
        var candidates = rankedPieces()
        var taken: [ArraySlice<UInt8>] = []
        var remaining = maximumBytes
        while remaining >= Self.grain, var best = candidates.popLast() {
            best.worth = value(of: best.bytes)
            guard best.worth > 0 else { continue }
            // Covered strings may have made it worth less than the next piece.
            if let next = candidates.last, Self.precedes(best, next) {
                let place = candidates.firstIndex { Self.precedes(best, $0) } ?? candidates.endIndex
                candidates.insert(best, at: place)
                continue
            }
            let bytes = best.bytes.suffix(remaining)
            for key in Self.keys(of: bytes) { worth[key] = nil }
            taken.append(bytes)
            remaining -= bytes.count
        }
        return Array(taken.reversed().joined())
    }

    /// Returns the distinct pieces of the samples whose strings all have worth, the best one last.
    private func rankedPieces() -> [Piece] {
        var distinct: Set<ArraySlice<UInt8>> = []
        for sample in samples {
            var start: Int?
            let keys = Self.keys(of: sample[...])
            for position in 0...keys.count {
                let isShared = position < keys.count && worth[keys[position]] != nil
                if isShared, start == nil { start = position }
                guard let begin = start else { continue }
                let isFull = position - begin + Self.grain > Self.pieceBytesMax
                if !isShared || isFull {
                    distinct.insert(sample[begin..<(position - 1 + Self.grain)])
                    start = isShared ? position : nil
                }
            }
        }
        let ranked = distinct.map { Piece(bytes: $0, worth: value(of: $0)) }.sorted(by: Self.precedes)
        return Array(ranked.suffix(Self.piecesMax))
    }

    private func value(of piece: ArraySlice<UInt8>) -> Int {
        Set(Self.keys(of: piece)).reduce(0) { $0 + (worth[$1] ?? 0) }
    }

    /// Orders by worth, then by bytes, so that equal samples give equal dictionaries.
    private static func precedes(_ left: Piece, _ right: Piece) -> Bool {
        left.worth != right.worth ? left.worth < right.worth : left.bytes.lexicographicallyPrecedes(right.bytes)
    }

    private static func keys(of bytes: ArraySlice<UInt8>) -> [UInt64] {
        guard bytes.count >= grain else { return [] }
        return (bytes.startIndex...(bytes.endIndex - grain)).map { start in
            bytes[start..<(start + grain)].reduce(0) { $0 << 8 | UInt64($1) }
        }
    }
}
