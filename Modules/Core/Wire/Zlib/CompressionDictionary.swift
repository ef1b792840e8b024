import MeshIdentity

/// Bytes that both sides know beforehand, so that even a small body finds in them what it repeats.
public struct CompressionDictionary: Hashable, Sendable {
    /// Follows from the content, so that two dictionaries are never mistaken for one another: the lowest 32 bits of its
    /// MurmurHash3 (x64, 128 bits, seed 0).
    public let id: UInt32
    /// The most useful ones last; at most 32 KiB, the window of deflate.
    public let bytes: [UInt8]

    /// Bytes of a dictionary: as far back as deflate looks.
    public static let bytesMax = 32_768

    /// Creates a dictionary from bytes that both sides have.
    ///
    /// - Throws: `oversized` above 32 KiB, `invalidValue` when there is nothing in it.
    public init(_ bytes: [UInt8]) throws(WireError) {
        guard !bytes.isEmpty else { throw WireError(.invalidValue, "a dictionary without content") }
        guard bytes.count <= Self.bytesMax else {
            throw WireError(.oversized, "a dictionary of \(bytes.count) bytes exceeds \(Self.bytesMax)")
        }
        self.init(checked: bytes)
    }

    private init(checked bytes: [UInt8]) {
        self.bytes = bytes
        id = UInt32(truncatingIfNeeded: StableHash(bytes).low)
    }

    /// Every reader of this library knows it: words that small messages of sessions are made of.
    public static let builtIn = CompressionDictionary(checked: Array(builtInText.utf8))

    public static func == (left: Self, right: Self) -> Bool { left.id == right.id && left.bytes == right.bytes }
    public func hash(into hasher: inout Hasher) { hasher.combine(id) }
}

/// The dictionaries that a reader knows by their ids: the built-in one and those that were given to it.
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
