import MeshDelivery
import MeshIdentity
import MeshTransport

/// A prerequisite of a rule. Without it the rule is skipped, with the reason.
enum TransportNeed: Sendable {
    /// A peer other than the local one.
    case otherPeer
    /// A pair that can be disconnected and connected again.
    case reconnection
    /// Faults on the link below.
    case faults
    /// A certain lane on the link.
    case lane(LinkLane)
    /// A lane that works only while connected.
    case liveLane
    /// A lane that loses and reorders nothing: stream or queue.
    case orderedLane
    /// A lane on which a newer snapshot replaces a waiting one: a live lane, or `latest`.
    case replacement
    /// Best-effort messages that can travel only over the connection between the two peers.
    case nothingKeepsBestEffort
    /// A third peer that both peers know.
    case bystander
    /// Ends with a store.
    case durability
    /// Ends that buffer little for a slow subscriber.
    case narrowness
    /// A crowd of peers.
    case crowd
    /// Access to the link itself.
    case link
    /// A link that proves peer IDs.
    case provenPeers
    /// Three links that can be connected.
    case thirdLink
    /// An extra that the transport claims. The text describes a transport without it.
    case extra(SessionTransportExtras, String)

    fileprivate func skipReason(_ bench: TransportBench) -> String? {
        let pair = bench.pair
        switch self {
        case .otherPeer: return pair.ownSendsComeBack ? "the only peer is always connected" : nil
        case .reconnection:
            if pair.ownSendsComeBack { return "the only peer is always connected" }
            return pair.disconnect != nil && pair.reconnects ? nil : "the fixture's pair can't disconnect and reconnect"
        case .faults: return pair.faults == nil ? "the fixture can't disturb its link" : nil
        case .lane(let lane):
            guard let lanes = pair.faults?.lanes else { return "the fixture doesn't state which lanes the link has" }
            return lanes.contains(lane) ? nil : "the link has no lane \(lane.rawValue)"
        case .liveLane:
            return bench.hasLiveLane ? nil : "the link has no lane that works only while connected"
        case .orderedLane:
            let lanes = pair.faults?.lanes ?? []
            return lanes.isDisjoint(with: [.stream, .queue]) ? "the link has no reliable lane" : nil
        case .replacement:
            let lanes = pair.faults?.lanes ?? [.latest]
            return lanes.contains { $0.isLive || $0 == .latest }
                ? nil : "the link promises no lane that keeps the newest only"
        case .nothingKeepsBestEffort:
            if pair.faults?.lanes.contains(.queue) == true { return "the lane queue takes what cannot be sent now" }
            return pair.bystander != nil && pair.faults == nil ? "a third peer is always there" : nil
        case .bystander: return pair.bystander == nil ? "only two peers can be joined" : nil
        case .durability: return pair.makeDurable == nil ? "the fixture stores nothing" : nil
        case .narrowness: return pair.makeNarrow == nil ? "the fixture makes no narrow pair" : nil
        case .crowd: return pair.makeCrowd == nil ? "no more than two peers can be joined" : nil
        case .thirdLink: return bench.links?.countMax ?? 0 > 2 ? nil : "no more than two links can be joined"
        case .extra(let extra, let lack):
            return bench.first.capabilities.extras.contains(extra) ? nil : "the transport \(lack)"
        case .link: return bench.links == nil ? "the fixture does not show the link below" : nil
        case .provenPeers: return pair.provesPeers ? nil : "the link does not prove who is there"
        }
    }
}

extension ConformanceRule where Bench == TransportBench {
    func needs(_ needs: TransportNeed...) -> ConformanceRule {
        unless { bench in needs.lazy.compactMap { $0.skipReason(bench) }.first }
    }
}

extension TransportBench {
    /// True if a lane works only while connected. Without one, no peer counts as reachable, so a send to a full queue
    /// throws instead of waiting.
    var hasLiveLane: Bool { pair.faults?.lanes.contains(where: \.isLive) ?? first.capabilities.supportsRealtime }
}
