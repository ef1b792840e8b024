/// The way in which the Codable path codes a type. Determined once, then cached by the type's address.
enum CodingStrategy {
    /// Uses the type's own `encode(to:)` and `init(from:)`.
    case codable
    /// Uses the direct path: the type writes and reads itself.
    case direct(any WireValue.Type)
    /// Uses a form of this library, without containers: arrays, dictionaries with string keys, `Decimal`.
    case form(any CodableForm.Type)
    /// A set, or a dictionary without string keys, of Codable elements. The deterministic mode sorts it.
    case unordered(any UnorderedCollection.Type)
}

/// A cache of the strategies of types: 64 entries. A new type replaces the one in its entry.
struct CodingStrategyCache: ~Copyable {
    private struct Entry {
        var type: UnsafeRawPointer?
        var value: CodingStrategy
    }

    private let entries: UnsafeMutablePointer<Entry>
    private let usesDirectPath: Bool
    private static var capacity: Int { 64 }

    init(usesDirectPath: Bool) {
        self.usesDirectPath = usesDirectPath
        entries = .allocate(capacity: Self.capacity)
        entries.initialize(repeating: Entry(type: nil, value: .codable), count: Self.capacity)
    }

    deinit { entries.deallocate() }

    @inline(__always)
    subscript<Value>(type: Value.Type) -> CodingStrategy {
        let address = unsafeBitCast(type as Any.Type, to: UnsafeRawPointer.self)
        let entry = entries + (Int(bitPattern: address) >> 4 ^ Int(bitPattern: address) >> 10) & (Self.capacity - 1)
        if _fastPath(entry.pointee.type == address) { return entry.pointee.value }
        let value = strategy(for: type)
        entry.pointee = Entry(type: address, value: value)
        return value
    }

    @inline(never)
    private func strategy(for type: Any.Type) -> CodingStrategy {
        if let standard = type as? any StandardWireValue.Type { return .direct(standard) }
        if usesDirectPath, let direct = type as? any WireValue.Type { return .direct(direct) }
        if let form = type as? any CodableForm.Type { return .form(form) }
        if let unordered = type as? any UnorderedCollection.Type { return .unordered(unordered) }
        return .codable
    }
}

/// A set or dictionary. Equal values can have different orders in memory.
protocol UnorderedCollection {
    /// Number of list values that are sorted as one: 1 for a set, 2 for a dictionary that isn't a record.
    static var valuesEach: UInt8 { get }
    /// True if no two keys can have the same name.
    static var hasUniqueNames: Bool { get }
    /// Writes the elements sorted by their bytes, or by the bytes of their keys.
    func encodeSorted(in state: UnsafeMutablePointer<EncodeState>, as head: WireHead) throws
}
