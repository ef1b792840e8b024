import MeshDelivery
import MeshIdentity
import MeshTransport

/// What a rule cannot do without; where it is missing the rule is skipped, with the reason.
enum TransportNeed: Sendable {
    /// Another peer than oneself.
    case otherPeer
    /// The pair can part and meet again.
    case reconnection
    /// The link below can be disturbed.
    case faults
    /// The link promises a lane.
    case lane(LinkLane)
    /// The link has a lane that works while connected.
    case liveLane
    /// The link has a lane on which nothing is lost.
    case orderedLane
    /// What waits is replaced by what is newer.
    case replacement
    /// Best effort has no other way than the connection to the other peer.
    case nothingKeepsBestEffort
    /// A third peer that knows both.
    case bystander
    /// Ends that keep things in a store.
    case durability
    /// Ends that hold little for a slow subscriber.
    case narrowness
    /// Many peers.
    case crowd
    /// The link itself can be examined.
    case link
    /// The link proves who is there.
    case provenPeers
    /// Three links can be joined.
    case thirdLink
    /// The transport says that it does so; else the text says what it does.
    case extra(SessionTransportExtras, String)

    fileprivate func complaint(_ bench: TransportBench) -> String? {
        let pair = bench.pair
        switch self {
        case .otherPeer: return pair.ownSendsComeBack ? "the only peer is always there" : nil
        case .reconnection:
            if pair.ownSendsComeBack { return "the only peer is always there" }
            return pair.disconnect != nil && pair.reconnects ? nil : "the fixture's pair cannot part and meet again"
        case .faults: return pair.faults == nil ? "the fixture cannot disturb the link below" : nil
        case .lane(let lane):
            guard let lanes = pair.faults?.lanes else { return "the fixture does not say which lanes the link has" }
            return lanes.contains(lane) ? nil : "the link does not promise the lane \(lane.rawValue)"
        case .liveLane:
            return bench.hasLiveLane ? nil : "the link promises no lane that works while connected"
        case .orderedLane:
            let lanes = pair.faults?.lanes ?? []
            return lanes.isDisjoint(with: [.stream, .queue]) ? "the link promises no lane that loses nothing" : nil
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
        unless { bench in needs.lazy.compactMap { $0.complaint(bench) }.first }
    }
}

extension TransportBench {
    /// Without one a full queue throws, since nobody is ever known to be there; with one it makes the sender wait.
    var hasLiveLane: Bool { pair.faults?.lanes.contains(where: \.isLive) ?? first.capabilities.supportsRealtime }
}
