import MeshBase
import MeshIdentity
import MeshScenarioTransport
import MeshTransport

/// A peer at a link without a transport. It records the link's calls.
final class Witness: LinkObserver {
    enum Word: Hashable, Sendable {
        case found(String)
        case connected(String)
        case disconnected(String, reason: String?)
        case writable(String)
        case received([UInt8], LinkLane, from: String)
        case failed
    }

    let peer: SessionPeer
    let link: ScenarioLink
    private let reachability = Locked<[Word]>([])

    init(
        _ id: String, on network: ScenarioNetwork, lanes: [LinkLane: PayloadLimit] = ScenarioLanes.network,
        opens: Bool = true
    ) {
        peer = SessionPeer(id: id, deviceClass: .unknown, appInstanceID: "1", topology: .sameHost)
        link = network.makeLink(localPeer: peer, lanes: lanes)
        if opens { link.open(self) }
    }

    func send(_ bytes: [UInt8], _ lane: LinkLane = .datagram, key: String = "", to other: Witness) throws {
        try link.send(LinkPacket(lane: lane, bytes: bytes, key: key), to: LinkAddress(other.peer.id))
    }

    var words: [Word] { reachability.withLock { $0 } }

    /// All calls except received bytes.
    var news: [Word] {
        words.filter { if case .received = $0 { false } else { true } }
    }

    /// Complete packets, or pieces of the stream.
    func packets(_ lane: LinkLane = .datagram) -> [[UInt8]] {
        words.compactMap { word in
            guard case .received(let bytes, lane, _) = word else { return nil }
            return bytes
        }
    }

    /// All bytes of the stream.
    var stream: [UInt8] { packets(.stream).flatMap { $0 } }

    private func note(_ word: Word) { reachability.withLock { $0.append(word) } }

    func found(_ address: LinkAddress, as peerID: String?) { note(.found(address.rawValue)) }
    func connected(_ address: LinkAddress, as peerID: String?) { note(.connected(address.rawValue)) }
    func received(_ bytes: UnsafeRawBufferPointer, on lane: LinkLane, from address: LinkAddress) {
        note(.received(Array(bytes), lane, from: address.rawValue))
    }
    func writable(_ address: LinkAddress) { note(.writable(address.rawValue)) }
    func disconnected(_ address: LinkAddress, reason: String?) {
        note(.disconnected(address.rawValue, reason: reason))
    }
    func failed(_ reason: String) { note(.failed) }
}

/// A number as two bytes.
func packet(_ number: Int) -> [UInt8] { [UInt8(truncatingIfNeeded: number >> 8), UInt8(truncatingIfNeeded: number)] }
func number(_ packet: [UInt8]) -> Int { packet.count == 2 ? Int(packet[0]) << 8 | Int(packet[1]) : -1 }
