import MeshBase
import MeshTransport

/// A link that `LinkFaults` can disturb. Its limits are a few bytes lower than those of the wrapped link.
final class FaultInjectingLink: LinkWrapper, LinkObserver {
    let base: any TransportLink
    let lanes: [LinkLane: PayloadLimit]
    private let index: Int
    private let faults: LinkFaults

    init(_ base: any TransportLink, index: Int, _ faults: LinkFaults) {
        self.base = base
        self.index = index
        self.faults = faults
        lanes = LinkFaults.lanes(of: base)
    }

    func open(_ observer: any LinkObserver) throws { try faults.open(index, self, observer) }
    func send(_ packet: LinkPacket, to address: LinkAddress) throws(LinkError) {
        try faults.send(packet, from: index, to: address)
    }
    /// Ends the connections of all links, not only the one to this address. `mend` connects them again.
    func disconnect(_ address: LinkAddress) { faults.disconnect(address, at: index) }
    func close() async {
        await base.close()
        faults.closed(index)
    }

    func found(_ address: LinkAddress, as peerID: String?) { faults.found(address, as: peerID, at: index) }
    func connected(_ address: LinkAddress, as peerID: String?) { faults.connected(address, as: peerID, at: index) }
    func received(_ bytes: UnsafeRawBufferPointer, on lane: LinkLane, from address: LinkAddress) {
        faults.received(bytes, on: lane, from: address, at: index)
    }
    func writable(_ address: LinkAddress) { faults.writable(address, at: index) }
    func disconnected(_ address: LinkAddress, reason: String?) {
        faults.disconnected(address, reason: reason, at: index)
    }
    func failed(_ reason: String) { faults.failed(reason, at: index) }
}
