public import MeshBus
public import MeshIdentity

/// The codecs of a reader, by their numbers on the wire.
public struct CodecTable: Sendable {
    /// Indices into `codecs`, by number; 255 for a number without a codec.
    private var indices = [UInt8](repeating: .max, count: 256)
    /// The codecs in the order in which they were registered.
    public private(set) var codecs: [any PayloadCodec] = []

    /// Creates a table. Each codec must have its own number.
    ///
    /// - Throws: `invalidValue` if two codecs have the same number, or one has 0, which stands for none.
    public init(_ codecs: [any PayloadCodec]) throws(WireError) {
        for codec in codecs { try add(codec) }
    }

    /// Creates a table of the codecs that plugins have contributed to `ExtensionPoint.codecs`.
    ///
    /// - Throws: `invalidValue` if two codecs have the same number, or one has 0.
    public init(_ contributions: [Contribution<any PayloadCodec>]) throws(WireError) {
        try self.init(contributions.map(\.value))
    }

    /// Returns the codec with a number.
    ///
    /// - Throws: `unknownCodec`.
    public func codec(_ number: UInt8) throws(WireError) -> any PayloadCodec {
        let index = indices[Int(number)]
        guard index != .max else { throw WireError(.unknownCodec, PayloadCodecID.unknown(number)) }
        return codecs[Int(index)]
    }

    private mutating func add(_ codec: any PayloadCodec) throws(WireError) {
        let id = codec.id
        guard id.number != 0 else { throw WireError(.invalidValue, "codec '\(id.name)' has number 0") }
        guard indices[Int(id.number)] == .max else {
            let other = codecs[Int(indices[Int(id.number)])].id.name
            throw WireError(.invalidValue, "codecs '\(other)' and '\(id.name)' share number \(id.number)")
        }
        indices[Int(id.number)] = UInt8(codecs.count)
        codecs.append(codec)
    }
}
