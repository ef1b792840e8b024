package import MeshWire

/// A compression format for tests that need no other library: deflate under a number for private use. It works, or fails in
/// one of several ways.
package struct TestFormat: CompressionFormat {
    package enum Manner: Sendable {
        case honest
        case full
        case boastful
        case failing
        case short
    }

    package let number: UInt8
    package let name = "test"
    private let manner: Manner

    package init(number: UInt8 = 200, manner: Manner = .honest) {
        self.number = number
        self.manner = manner
    }

    package func makeCompressor(
        level: Int, dictionary: CompressionDictionary?
    ) throws(WireError) -> any FormatCompressor {
        Compressor(deflater: try ZlibDeflater(level: level), dictionary: dictionary, manner: manner)
    }

    package func makeDecompressor() throws(WireError) -> any FormatDecompressor {
        Decompressor(inflater: try ZlibInflater(), manner: manner)
    }

    private final class Compressor: FormatCompressor {
        let deflater: ZlibDeflater
        let dictionary: CompressionDictionary?
        let manner: Manner

        init(deflater: ZlibDeflater, dictionary: CompressionDictionary?, manner: Manner) {
            (self.deflater, self.dictionary, self.manner) = (deflater, dictionary, manner)
        }

        func compress(
            _ bytes: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
        ) throws(WireError) -> Int? {
            switch manner {
            case .full: return nil
            case .boastful: return output.count + 1
            case .failing: throw WireError(.compressionFailed, "on purpose")
            case .honest, .short:
                let compressed = try deflater.compress(bytes, dictionary: dictionary)
                guard compressed.count <= output.count else { return nil }
                output.copyBytes(from: compressed)
                return compressed.count
            }
        }
    }

    private final class Decompressor: FormatDecompressor {
        let inflater: ZlibInflater
        let manner: Manner

        init(inflater: ZlibInflater, manner: Manner) {
            (self.inflater, self.manner) = (inflater, manner)
        }

        func decompress(
            _ bytes: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer,
            dictionary: CompressionDictionary?
        ) throws(WireError) -> Int {
            let inflated = try inflater.inflate(bytes, count: output.count, dictionary: dictionary)
            output.copyBytes(from: inflated)
            return manner == .short ? inflated.count - 1 : inflated.count
        }
    }
}
