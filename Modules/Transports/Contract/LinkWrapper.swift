package import MeshBase

/// A link that wraps another one, for example to count its packets or to inject faults. The conforming type implements
/// only what it changes. This protocol forwards everything else, including requirements that have a default.
package protocol LinkWrapper: TransportLink {
    /// The link to which everything is forwarded.
    var base: any TransportLink { get }
}

extension LinkWrapper {
    package var lanes: [LinkLane: PayloadLimit] { base.lanes }
    package var traits: LinkTraits { base.traits }
    package var problems: [SessionProblem] { base.problems }
    package var remainingWakes: Int? { base.remainingWakes }

    package func open(_ observer: any LinkObserver) throws { try base.open(observer) }
    package func send(_ packet: LinkPacket, to address: LinkAddress) throws(LinkError) {
        try base.send(packet, to: address)
    }
    package func disconnect(_ address: LinkAddress) { base.disconnect(address) }
    package func isOwn(_ peerID: String) -> Bool { base.isOwn(peerID) }
    package func revokedPeers() -> AsyncStream<Set<String>>? { base.revokedPeers() }
    package func close() async { await base.close() }
}
