/// The spellings of one type's coding keys, cached from earlier messages. Saves requesting, hashing and checking them.
///
/// At most 64 names of at most 32 bytes. Each takes 40 bytes from a budget that all types of a coder share.
struct KnownNames {
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

    /// Returns the name of the key at that place, and its hash; nil if it isn't cached. 32 bytes are readable at its address.
    @inline(__always)
    subscript(place: Int) -> (text: UnsafeRawBufferPointer, hash: UInt32)? {
        guard let names, place < capacity, names[place].count > 0 else { return nil }
        let start = UnsafeRawPointer(names + place) + Self.textOffset
        return (UnsafeRawBufferPointer(start: start, count: Int(names[place].count)), names[place].hash)
    }

    mutating func remember(_ text: UnsafeRawBufferPointer, at place: Int) {
        guard place < Self.capacityMax, text.count <= Self.bytesMax else { return }
        if place >= capacity { grow(to: place + 1) }
        guard let names, place < capacity else { return }
        names[place].hash = WrittenTexts.hash(text)
        names[place].count = UInt8(text.count)
        withUnsafeMutableBytes(of: &names[place].text) { $0.copyMemory(from: text) }
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
