/// What a coder remembers of each coding key type that it has met: the numbers that its names have in this message, how
/// they are spelled, and a container for fields under such keys.
///
/// A key of at most one byte (an enum of up to 256 cases, whatever its raw values) is known by that byte: equal bytes are
/// equal keys. Larger keys have no table and are looked up by name.
struct KeyTables: ~Copyable {
    /// One type's.
    struct Entry {
        fileprivate var type: UnsafeRawPointer
        /// The message whose numbers these are.
        fileprivate var message: UInt32
        /// `width` of them, 0 where there is none yet.
        private let numbers = UnsafeMutablePointer<UInt16>.allocate(capacity: KeyTables.width)
        /// Places from here on have no number in this message.
        private var numbersEnd = 0
        var names: KnownNames
        /// A `KeptContainer`, retained; nil until the first container has been made.
        fileprivate(set) var kept: Unmanaged<AnyObject>?

        fileprivate init(type: UnsafeRawPointer, message: UInt32, budget: UnsafeMutablePointer<Int>) {
            self.type = type
            names = KnownNames(budget: budget)
            self.message = message
            numbers.initialize(repeating: 0, count: KeyTables.width)
        }

        fileprivate func deallocate() {
            numbers.deallocate()
            names.deallocate()
            kept?.release()
        }
    }

    private let entries: UnsafeMutablePointer<Entry>
    private let namesBudget: UnsafeMutablePointer<Int>
    private var count = 0
    private var last = 0
    private var message: UInt32 = 0

    /// Types with a table; others are looked up by name.
    private static var typesMax: Int { 48 }
    private static var width: Int { 256 }
    /// Names that all types together keep, of 40 bytes; others are asked for in each message.
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

    /// Begins another message: all numbers are void.
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

    /// Nil for keys that need a look-up by name.
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
        var place = 0
        while place < count, entries[place].type != address { place &+= 1 }
        if place == count {
            guard count < Self.typesMax else { return nil }
            (entries + count).initialize(to: Entry(type: address, message: message, budget: namesBudget))
            count += 1
        }
        last = place
        if entries[place].message != message {
            entries[place].message = message
            entries[place].removeNumbers()
        }
        return entries + place
    }

    /// Keeps a container for the next record under these keys.
    static func keep(_ container: AnyObject, in entry: UnsafeMutablePointer<Entry>) {
        entry.pointee.kept?.release()
        entry.pointee.kept = Unmanaged.passRetained(container)
    }

    /// The place of a key in its table.
    @inline(__always)
    static func ordinal<Key: CodingKey>(_ key: Key) -> Int {
        MemoryLayout<Key>.size == 0 ? 0 : Int(unsafeBitCast(key, to: UInt8.self))
    }
}

extension KeyTables.Entry {
    /// The number of a key's name in this message; 0 when it has none.
    @inline(__always)
    func number<Key: CodingKey>(_ key: Key) -> UInt16 { numbers[KeyTables.ordinal(key)] }

    mutating func setNumber(_ number: UInt64, at place: Int) {
        guard let number = UInt16(exactly: number) else { return }
        numbers[place] = number
        numbersEnd = max(numbersEnd, place + 1)
    }

    fileprivate mutating func removeNumbers() {
        numbers.update(repeating: 0, count: numbersEnd)
        numbersEnd = 0
    }
}
