import MeshBase

/// Some of a schedule's peers.
public struct PeerSet: Hashable, Sendable, ExpressibleByArrayLiteral {
    private var bits: UInt32 = 0

    init(bits: UInt32) { self.bits = bits }

    public init(arrayLiteral peers: Int...) {
        for peer in peers { insert(peer) }
    }

    var isEmpty: Bool { bits == 0 }
    var count: Int { bits.nonzeroBitCount }

    func contains(_ peer: Int) -> Bool { bits & 1 << UInt32(peer) != 0 }

    mutating func insert(_ peer: Int) { bits |= 1 << UInt32(peer) }
    mutating func remove(_ peer: Int) { bits &= ~(1 << UInt32(peer)) }
}

extension PeerSet {
    /// So many of the first peers, drawn.
    static func drawn(_ size: Int, of peerCount: Int, _ random: inout SplitMix64) -> PeerSet {
        var peers: PeerSet = []
        while peers.count < min(size, peerCount) { peers.insert(random.below(peerCount)) }
        return peers
    }
}
