import MeshIdentity

/// Bytes that both sides know in advance, so that even a small body can refer to them instead of repeating them.
public struct CompressionDictionary: Hashable, Sendable {
    /// ID of the dictionary, computed from its content: the lowest 32 bits of its MurmurHash3 (x64, 128 bits, seed 0).
    /// Two different dictionaries have the same ID with a chance of one in 2^32.
    public let id: UInt32
    /// The content, with the most useful strings last. At most 32 KiB, the window of deflate.
    public let bytes: [UInt8]

    /// Maximum number of bytes in a dictionary: the window of deflate.
    public static let bytesMax = 32_768

    /// Creates a dictionary from bytes that both sides have.
    ///
    /// - Throws: `oversized` above 32 KiB, `invalidValue` if it is empty.
    public init(_ bytes: [UInt8]) throws(WireError) {
        guard !bytes.isEmpty else { throw WireError(.invalidValue, "the dictionary is empty") }
        guard bytes.count <= Self.bytesMax else {
            throw WireError(.oversized, "a dictionary of \(bytes.count) bytes exceeds \(Self.bytesMax)")
        }
        self.init(checked: bytes)
    }

    private init(checked bytes: [UInt8]) {
        self.bytes = bytes
        id = UInt32(truncatingIfNeeded: StableHash(bytes).low)
    }

    /// The dictionary that every reader of this library has: common words of small session messages.
    public static let builtIn = CompressionDictionary(checked: Array(builtInText.utf8))

    public static func == (left: Self, right: Self) -> Bool { left.id == right.id && left.bytes == right.bytes }
    public func hash(into hasher: inout Hasher) { hasher.combine(id) }
}

/// The dictionaries of a reader, by ID: the built-in one and any that were passed to it.
struct DictionaryTable: Sendable {
    private let dictionaries: [CompressionDictionary]

    init(_ dictionaries: [CompressionDictionary]) { self.dictionaries = [.builtIn] + dictionaries }

    var ids: [UInt32] { dictionaries.map(\.id) }

    func dictionary(_ id: UInt32) throws(WireError) -> CompressionDictionary {
        guard let dictionary = dictionaries.first(where: { $0.id == id }) else {
            throw WireError(.unknownDictionary, "compression dictionary \(id) is not registered here")
        }
        return dictionary
    }
}
