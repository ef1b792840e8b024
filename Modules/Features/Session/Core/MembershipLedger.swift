import MeshEngine
import MeshIdentity

/// The group's members, the reasons why some may leave, and the departures.
struct MembershipLedger {
    private(set) var group: SessionSource?
    private(set) var members: [SessionSource] = []
    /// Members that have announced their departure.
    private(set) var leaving: Set<SessionSource> = []
    /// Members that a user has decided to remove, and the peer ID of that user's device.
    private(set) var removers: [SessionSource: String] = [:]
    /// Peers that this device hasn't heard for too long, and members that the user has revoked.
    var suspected: Set<String> = []
    /// Peers that the user has revoked as lost, and the last view in which this device tried to remove them.
    var revoked: Set<String> = []
    var revokedInView: UInt64?
    /// The newest departures, in the order in which this device learned of them.
    private(set) var departures: [SessionDeparture] = []
    private(set) var departureCount = 0

    static let departuresMax = 64

    mutating func note(_ statement: ViewStatement, of source: SessionSource) {
        guard members.contains(source) else { return }
        if statement.isLeaving { leaving.insert(source) }
        guard let change = statement.change, change.ballot.isForced else { return }
        recordRemoval(of: change.closing, by: change.ballot.proposer.peerID)
    }

    mutating func recordRemoval(of sources: [SessionSource], by peerID: String) {
        for source in sources where members.contains(source) { removers[source] = peerID }
    }

    mutating func record(_ departure: SessionDeparture) {
        departures.append(departure)
        departures.removeFirst(max(0, departures.count - Self.departuresMax))
        departureCount += 1
    }

    /// Installs a new membership. Users' decisions in the previous view no longer apply.
    mutating func install(_ members: [SessionSource], of group: SessionSource?) {
        (self.members, self.group) = (members, group)
        leaving.formIntersection(members)
        removers = [:]
    }
}

extension SessionCore {
    /// Records the members that have left the group since the last call. Complexity: O(members).
    mutating func recordDepartures() {
        let members = engine.membership.open.map(\.source)
        guard members != membershipLedger.members || engine.group != membershipLedger.group else { return }
        // A device that joins another group has lost no members.
        let isSame = engine.group != nil && engine.group == membershipLedger.group && members.contains(engine.source)
        let gone = isSame ? membershipLedger.members.filter { !members.contains($0) } : []
        for source in gone {
            membershipLedger.record(
                SessionDeparture(
                    source: source, reason: departureReason(of: source, members), moment: moment.now,
                    viewNumber: engine.view))
            // A removed peer may still show values. Its message that hides them would be ignored.
            if !engine.hears(source.peerID) { forgetEphemerals(of: source.peerID) }
        }
        membershipLedger.install(members, of: engine.group)
    }

    /// Records that the others have removed this device, or agreed that it leaves.
    mutating func recordOwnDeparture(view: UInt64) {
        membershipLedger.record(
            SessionDeparture(
                source: engine.source, reason: engine.isLeaving ? .left : .fenced, moment: moment.now, viewNumber: view)
        )
        directives.showsStatus = true
    }

    private func departureReason(of source: SessionSource, _ members: [SessionSource]) -> SessionDeparture.Reason {
        let heard = heard[source.peerID]
        let hasNewIncarnation = heard?.incarnation.map { $0 != source.incarnation } ?? false
        if hasNewIncarnation || members.contains(where: { $0.peerID == source.peerID }) { return .replaced }
        if membershipLedger.leaving.contains(source) { return .left }
        if let peerID = membershipLedger.removers[source] { return .removed(by: peerID) }
        // Suspicion is updated with each exchange, and the link may have lost the peer since.
        let isSilent =
            membershipLedger.suspected.contains(source.peerID)
            || heard.map { isGone(source.peerID, heardAt: $0.at) } ?? false
        return isSilent ? .silent(since: heard?.at) : .unknown
    }
}
