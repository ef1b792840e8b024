/// The spellings of one type's coding keys, cached from earlier messages. Saves requesting, hashing and checking them.
///
/// At most 64 names of at most 32 bytes. Each takes 40 bytes from a budget that all types of a coder share.
struct CachedNames {
    private struct Name {
        var hash: UInt32
        /// Length of the name; 0 if it isn't cached. Empty names aren't cached.
        var count: UInt8
        var text: (UInt64, UInt64, UInt64, UInt64)

        static let none = Name(hash: 0, count: 0, text: (0, 0, 0, 0))
    }

    private var names: UnsafeMutablePointer<Name>?
    private var capacity = 0
    /// Number of names that can still be cached.
    private let budget: UnsafeMutablePointer<Int>

    init(budget: UnsafeMutablePointer<Int>) { self.budget = budget }

    private static var capacityMax: Int { 64 }
    private static var bytesMax: Int { 32 }
    private static var textOffset: Int { 8 }

    func deallocate() { names?.deallocate() }

    /// Returns the name of the key with that ordinal, and its hash; nil if it isn't cached. 32 bytes are readable at its address.
    @inline(__always)
    subscript(ordinal: Int) -> (text: UnsafeRawBufferPointer, hash: UInt32)? {
        guard let names, ordinal < capacity, names[ordinal].count > 0 else { return nil }
        let start = UnsafeRawPointer(names + ordinal) + Self.textOffset
        return (UnsafeRawBufferPointer(start: start, count: Int(names[ordinal].count)), names[ordinal].hash)
    }

    mutating func remember(_ text: UnsafeRawBufferPointer, at ordinal: Int) {
        guard ordinal < Self.capacityMax, text.count <= Self.bytesMax else { return }
        if ordinal >= capacity { grow(to: ordinal + 1) }
        guard let names, ordinal < capacity else { return }
        names[ordinal].hash = TextNumbering.hash(text)
        names[ordinal].count = UInt8(text.count)
        withUnsafeMutableBytes(of: &names[ordinal].text) { $0.copyMemory(from: text) }
    }

    private mutating func grow(to wanted: Int) {
        var larger = max(8, capacity)
        while larger < wanted { larger *= 2 }
        guard larger - capacity <= budget.pointee else { return }
        budget.pointee -= larger - capacity
        let names = UnsafeMutablePointer<Name>.allocate(capacity: larger)
        names.initialize(repeating: .none, count: larger)
        if let old = self.names {
            names.update(from: old, count: capacity)
            old.deallocate()
        }
        self.names = names
        capacity = larger
    }
}
