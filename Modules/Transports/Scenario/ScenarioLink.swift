public import MeshBase
public import MeshTransport

/// One peer's end of a `ScenarioNetwork`: packets to the other peers, whose addresses are their IDs.
///
/// If a second link of the same peer opens, it replaces this one, as the relaunch of a crashed app does; this one's
/// observer is notified that it has failed. Safe to use from any thread. The observer is called only inside
/// `advance(by:)` and `runUntilIdle()`, except for `failed`.
public final class ScenarioLink: TransportLink {
    /// The peer's ID, which is also its address.
    public let peerID: String
    public let lanes: [LinkLane: PayloadLimit]
    private let id: UInt64
    private let core: Locked<NetworkCore>

    init(peerID: String, lanes: [LinkLane: PayloadLimit], core: Locked<NetworkCore>) {
        self.peerID = peerID
        self.lanes = lanes
        self.core = core
        id = core.withLock { $0.makeLinkID() }
    }

    public var traits: LinkTraits {
        LinkTraits(expectedLatency: .interactive, isSecured: core.withLock { $0.provesPeers })
    }

    public func open(_ observer: any LinkObserver) {
        let replaced = core.withLock { $0.join(peerID, linkID: id, lanes: lanes, observer: observer) }
        replaced?.failed("another link of this peer was opened")
    }

    /// Sends a packet under the network's conditions for that direction.
    ///
    /// - Throws: `LinkError` with `full`, `unreachable`, `oversized` or `closed`.
    public func send(_ packet: LinkPacket, to address: LinkAddress) throws(LinkError) {
        if let refusal = core.withLock({ $0.accept(packet, from: peerID, linkID: id, to: address) }) { throw refusal }
    }

    /// Returns true: all devices of a scenario belong to one user.
    public func isOwn(_ peerID: String) -> Bool { true }

    /// Ends a connection; the peers connect again a second later. Packets that were accepted before still arrive.
    public func disconnect(_ address: LinkAddress) {
        core.withLock { $0.disconnect(peerID, linkID: id, from: address) }
    }

    /// Closes the link for good. Packets that were accepted before still arrive.
    public func close() async {
        core.withLock { $0.leave(peerID, linkID: id) }
    }
}
