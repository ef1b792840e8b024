/// Numbers that names have in one message, by coding key.
///
/// A key of at most one byte (an enum of up to 256 cases, whatever its raw values) is known by that byte: equal bytes are
/// equal keys. Larger keys have no table and are looked up by name.
struct KeyTables: ~Copyable {
    private var types: UnsafeMutablePointer<UnsafeRawPointer>?
    private var numbers: UnsafeMutablePointer<UInt16>?
    private var count = 0
    private var last = 0
    /// The message whose numbers each table holds.
    private var messages: UnsafeMutablePointer<UInt32>?
    private var message: UInt32 = 0

    /// Types with a table; others are looked up by name.
    private static var typesMax: Int { 48 }
    private static var width: Int { 256 }

    init() {}

    deinit {
        types?.deallocate()
        numbers?.deallocate()
        messages?.deallocate()
    }

    /// Begins another message: all numbers are void.
    mutating func removeAll() {
        message &+= 1
        if count == Self.typesMax || message == 0 { count = 0 }
    }

    /// A table of `width` numbers, 0 where there is none yet; nil for keys that need a look-up by name.
    mutating func table<Key: CodingKey>(_ type: Key.Type) -> UnsafeMutablePointer<UInt16>? {
        guard MemoryLayout<Key>.size <= 1 else { return nil }
        let address = unsafeBitCast(type as Any.Type, to: UnsafeRawPointer.self)
        if types == nil { allocate() }
        guard let types else { return nil }
        if last >= count || types[last] != address {
            guard let place = (0..<count).first(where: { types[$0] == address }) ?? add(address) else { return nil }
            last = place
        }
        return currentTable(last)
    }

    private mutating func add(_ address: UnsafeRawPointer) -> Int? {
        guard count < Self.typesMax, let types, let messages else { return nil }
        types[count] = address
        messages[count] = message &- 1
        count += 1
        return count - 1
    }

    @inline(__always)
    private func currentTable(_ place: Int) -> UnsafeMutablePointer<UInt16>? {
        guard let numbers, let messages else { return nil }
        let table = numbers + place * Self.width
        if messages[place] != message {
            messages[place] = message
            table.initialize(repeating: 0, count: Self.width)
        }
        return table
    }

    /// The place of a key in its table.
    @inline(__always)
    static func ordinal<Key: CodingKey>(_ key: Key) -> Int {
        MemoryLayout<Key>.size == 0 ? 0 : Int(unsafeBitCast(key, to: UInt8.self))
    }

    private mutating func allocate() {
        types = .allocate(capacity: Self.typesMax)
        numbers = .allocate(capacity: Self.typesMax * Self.width)
        messages = .allocate(capacity: Self.typesMax)
    }
}
