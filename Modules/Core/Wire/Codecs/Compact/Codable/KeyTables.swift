/// A cache for each coding key type that a coder has met: the numbers of its names in this message, their spellings, and
/// a container for fields with such keys.
///
/// Identifies a key of at most one byte (an enum of up to 256 cases, whatever its raw values) by that byte, because equal
/// bytes are equal keys. Larger keys have no entry and are looked up by name.
struct KeyTables: ~Copyable {
    /// The cached data of one key type.
    struct Entry {
        fileprivate var type: UnsafeRawPointer
        /// The message to which the numbers belong.
        fileprivate var message: UInt32
        /// The number of each key's name, indexed by the key's byte: `width` entries, 0 for a name without a number.
        private let numbers = UnsafeMutablePointer<UInt16>.allocate(capacity: KeyTables.width)
        /// All numbers from this ordinal on are 0.
        private var numbersEnd = 0
        var names: CachedNames
        /// A `CachedContainer`, retained; nil until the first container has been made.
        fileprivate(set) var cached: Unmanaged<AnyObject>?

        fileprivate init(type: UnsafeRawPointer, message: UInt32, budget: UnsafeMutablePointer<Int>) {
            self.type = type
            names = CachedNames(budget: budget)
            self.message = message
            numbers.initialize(repeating: 0, count: KeyTables.width)
        }

        fileprivate func deallocate() {
            numbers.deallocate()
            names.deallocate()
            cached?.release()
        }
    }

    private let entries: UnsafeMutablePointer<Entry>
    private let namesBudget: UnsafeMutablePointer<Int>
    private var count = 0
    private var last = 0
    private var message: UInt32 = 0

    /// Maximum number of key types with an entry. Keys of other types are looked up by name.
    private static var typesMax: Int { 48 }
    private static var width: Int { 256 }
    /// Maximum number of spellings that all types cache, 40 bytes each. Other names are requested for each message.
    private static var namesMax: Int { 1024 }

    init() {
        entries = .allocate(capacity: Self.typesMax)
        namesBudget = .allocate(capacity: 1)
        namesBudget.initialize(to: Self.namesMax)
    }

    deinit {
        freeEntries()
        entries.deallocate()
        namesBudget.deallocate()
    }

    /// Starts another message, which makes all numbers invalid.
    mutating func removeAll() {
        message &+= 1
        guard _slowPath(count == Self.typesMax || message == 0) else { return }
        freeEntries()
        count = 0
    }

    private func freeEntries() {
        for index in 0..<count { entries[index].deallocate() }
        namesBudget.pointee = Self.namesMax
    }

    /// Returns the entry of a key type; nil if its keys must be looked up by name.
    @inline(__always)
    mutating func entry<Key: CodingKey>(_ type: Key.Type) -> UnsafeMutablePointer<Entry>? {
        guard MemoryLayout<Key>.size <= 1 else { return nil }
        let address = unsafeBitCast(type as Any.Type, to: UnsafeRawPointer.self)
        if _fastPath(last < count && entries[last].type == address && entries[last].message == message) {
            return entries + last
        }
        return find(address)
    }

    private mutating func find(_ address: UnsafeRawPointer) -> UnsafeMutablePointer<Entry>? {
        var index = 0
        while index < count, entries[index].type != address { index &+= 1 }
        if index == count {
            guard count < Self.typesMax else { return nil }
            (entries + count).initialize(to: Entry(type: address, message: message, budget: namesBudget))
            count += 1
        }
        last = index
        if entries[index].message != message {
            entries[index].message = message
            entries[index].removeNumbers()
        }
        return entries + index
    }

    /// Caches a container for the next record with these keys.
    static func cache(_ container: AnyObject, in entry: UnsafeMutablePointer<Entry>) {
        entry.pointee.cached?.release()
        entry.pointee.cached = Unmanaged.passRetained(container)
    }

    /// Returns the ordinal of a key: its index in a table.
    @inline(__always)
    static func ordinal<Key: CodingKey>(_ key: Key) -> Int {
        MemoryLayout<Key>.size == 0 ? 0 : Int(unsafeBitCast(key, to: UInt8.self))
    }
}

extension KeyTables.Entry {
    /// Returns the number of a key's name in this message; 0 if it has none.
    @inline(__always)
    func number<Key: CodingKey>(_ key: Key) -> UInt16 { numbers[KeyTables.ordinal(key)] }

    mutating func setNumber(_ number: UInt64, at ordinal: Int) {
        guard let number = UInt16(exactly: number) else { return }
        numbers[ordinal] = number
        numbersEnd = max(numbersEnd, ordinal + 1)
    }

    fileprivate mutating func removeNumbers() {
        numbers.update(repeating: 0, count: numbersEnd)
        numbersEnd = 0
    }
}
