/// The names of one type's coding keys, as earlier messages spelled them: a new message need not ask the type, hash the
/// text and check it again.
///
/// At most 64 names of at most 32 bytes, in 40 bytes each, out of a budget that the types of one coder share.
struct KnownNames {
    private struct Name {
        var hash: UInt32
        /// 0 where none is known; no empty name is kept.
        var count: UInt8
        var text: (UInt64, UInt64, UInt64, UInt64)

        static let none = Name(hash: 0, count: 0, text: (0, 0, 0, 0))
    }

    private var names: UnsafeMutablePointer<Name>?
    private var capacity = 0
    /// How many names may still be kept.
    private let budget: UnsafeMutablePointer<Int>

    init(budget: UnsafeMutablePointer<Int>) { self.budget = budget }

    private static var capacityMax: Int { 64 }
    private static var bytesMax: Int { 32 }
    private static var textOffset: Int { 8 }

    func deallocate() { names?.deallocate() }

    /// The name of the key at that place, and its hash; nil when it is not known. 32 bytes can be read where it lies.
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
