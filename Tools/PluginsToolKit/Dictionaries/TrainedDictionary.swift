import MeshToolOutput
import MeshWire

/// A dictionary trained on samples, and its effect on samples it was not trained on.
struct TrainedDictionary {
    let dictionary: CompressionDictionary
    let row: DictionaryRow

    /// One in this many samples is held out. Measuring with the training samples would flatter the dictionary.
    static let heldOutStride = 5

    /// - Parameter size: 64…32,768 bytes.
    /// - Throws: `ToolError`.
    init(from samples: SampleBodies, size: Int) throws {
        guard 64...CompressionDictionary.bytesMax ~= size else {
            throw ToolError(
                "a dictionary can't have \(size) bytes; --size must be from 64 to \(CompressionDictionary.bytesMax)")
        }
        guard samples.count > 0 else {
            throw ToolError("there are no samples; name files, each with one body, or a folder of them")
        }
        let usable = samples.filter { $0.count >= SampleBodies.bodyBytesMin }
        guard usable.count >= Self.heldOutStride else {
            let size = usable.count < samples.count ? " of \(SampleBodies.bodyBytesMin) bytes or more" : ""
            throw ToolError(
                "at least \(Self.heldOutStride) samples\(size) are needed, better a hundred; found \(usable.count)")
        }
        let isHeldOut = { $0 % Self.heldOutStride == Self.heldOutStride - 1 }
        let training = usable.indices.filter { !isHeldOut($0) }.map { usable[$0] }
        let heldOut = usable.indices.filter(isHeldOut).map { usable[$0] }
        dictionary = try Self.dictionary(from: training, size: size)
        row = try DictionaryRow(dictionary, trainedOn: training.count, heldOut: heldOut)
    }

    private static func dictionary(from samples: [[UInt8]], size: Int) throws -> CompressionDictionary {
        do {
            return try CompressionDictionary.trained(from: samples, maximumBytes: size)
        } catch {
            throw ToolError("\(error.message); use bodies of one kind, each at least a few dozen bytes")
        }
    }
}

/// The result that `train-dictionary` prints.
struct DictionaryRow: Encodable, Equatable {
    let id: UInt32
    let bytes: Int
    /// Number of samples trained on.
    let samples: Int
    let heldOut: Int
    /// Number of bytes of all held-out bodies before compression.
    let heldOutBytes: Int
    /// Size of the held-out bodies in frames, each compressed on its own or stored, relative to their size before.
    let ratio: Double
    let ratioWithDictionary: Double

    init(_ dictionary: CompressionDictionary, trainedOn samples: Int, heldOut bodies: [[UInt8]]) throws {
        id = dictionary.id
        bytes = dictionary.bytes.count
        self.samples = samples
        heldOut = bodies.count
        heldOutBytes = bodies.reduce(0) { $0 + $1.count }
        ratio = try Self.ratio(of: bodies, with: nil)
        ratioWithDictionary = try Self.ratio(of: bodies, with: dictionary)
    }

    private static func ratio(of bodies: [[UInt8]], with dictionary: CompressionDictionary?) throws -> Double {
        let deflater = try ZlibDeflater()
        let idBytes = dictionary == nil ? 0 : MemoryLayout<UInt32>.size
        let compressed = try bodies.reduce(0) { sum, body in
            var prefix = WireWriter()
            prefix.writeVarint(UInt64(body.count))
            let deflated = try body.withUnsafeBytes { try deflater.compress($0, dictionary: dictionary) }
            return sum + min(body.count, idBytes + prefix.count + deflated.count)
        }
        return Double(compressed) / Double(bodies.reduce(0) { $0 + $1.count })
    }
}
