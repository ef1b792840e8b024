import MeshBase

/// A set of up to 64 peers or sources by number. Iterates from the lowest.
public struct SmallSet: Hashable, Sendable, Sequence, ExpressibleByArrayLiteral {
    private(set) var bits: UInt64 = 0

    public init(arrayLiteral sources: Int...) { for source in sources { insert(source) } }
    init(_ sources: some Sequence<Int>) { for source in sources { insert(source) } }

    init(bits: UInt64) { self.bits = bits }

    var isEmpty: Bool { bits == 0 }
    var count: Int { bits.nonzeroBitCount }
    var lowest: Int? { bits == 0 ? nil : bits.trailingZeroBitCount }

    func contains(_ source: Int) -> Bool { bits >> UInt64(source) & 1 == 1 }
    mutating func insert(_ source: Int) { bits |= 1 << UInt64(source) }
    mutating func remove(_ source: Int) { bits &= ~(1 << UInt64(source)) }
    func union(_ other: SmallSet) -> SmallSet { SmallSet(bits: bits | other.bits) }
    func intersection(_ other: SmallSet) -> SmallSet { SmallSet(bits: bits & other.bits) }
    func subtracting(_ other: SmallSet) -> SmallSet { SmallSet(bits: bits & ~other.bits) }
    func isSubset(of other: SmallSet) -> Bool { bits & ~other.bits == 0 }

    public struct Iterator: IteratorProtocol {
        fileprivate var bits: UInt64

        public mutating func next() -> Int? {
            guard bits != 0 else { return nil }
            defer { bits &= bits - 1 }
            return bits.trailingZeroBitCount
        }
    }

    public func makeIterator() -> Iterator { Iterator(bits: bits) }
}

extension SmallSet {
    /// Returns a random set of `size` of the first `peerCount` peers.
    static func drawn(_ size: Int, of peerCount: Int, _ random: inout SplitMix64) -> SmallSet {
        var peers: SmallSet = []
        while peers.count < Swift.min(size, peerCount) { peers.insert(random.below(peerCount)) }
        return peers
    }
}
