import MeshEngine
import MeshIdentity

/// Who is in the group, what was heard of why somebody may go, and who has gone.
struct CompanyLedger {
    private(set) var group: SessionSource?
    private(set) var members: [SessionSource] = []
    /// Members that have said so of themselves.
    private(set) var leaving: Set<SessionSource> = []
    /// Members that the user of a device does not wait for, and whose.
    private(set) var goneOnBy: [SessionSource: String] = [:]
    /// Peers that were not heard here for long.
    var suspected: Set<String> = []
    /// Peers that the user has revoked as lost, and the view in which this device last went on without them.
    var revoked: Set<String> = []
    var revokedInView: UInt64?
    /// The newest, in the order in which they became known.
    private(set) var departures: [SessionDeparture] = []
    private(set) var departureCount = 0

    static let departuresMax = 64

    mutating func hear(_ statement: ViewStatement, of source: SessionSource) {
        guard members.contains(source) else { return }
        if statement.isLeaving { leaving.insert(source) }
        guard let change = statement.change, change.ballot.isForced else { return }
        goOn(without: change.closing, by: change.ballot.proposer.peerID)
    }

    mutating func goOn(without sources: [SessionSource], by peerID: String) {
        for source in sources where members.contains(source) { goneOnBy[source] = peerID }
    }

    mutating func record(_ departure: SessionDeparture) {
        departures.append(departure)
        departures.removeFirst(max(0, departures.count - Self.departuresMax))
        departureCount += 1
    }

    /// What was heard before concerned the members there were.
    mutating func install(_ members: [SessionSource], of group: SessionSource?) {
        (self.members, self.group) = (members, group)
        leaving.formIntersection(members)
        goneOnBy = [:]
    }
}

extension SessionCore {
    /// Compares the group with what it was, and records who is not in it any more. Complexity: O(members).
    mutating func recordDepartures() {
        let members = engine.membership.open.map(\.source)
        guard members != company.members || engine.group != company.group else { return }
        // Who joins another group has lost nobody.
        let isSame = engine.group != nil && engine.group == company.group && members.contains(engine.source)
        let gone = isSame ? company.members.filter { !members.contains($0) } : []
        for source in gone {
            company.record(
                SessionDeparture(
                    source: source, reason: reason(toCloseOne: source, members), moment: moment.now,
                    viewNumber: engine.view))
            // It may still show something, and what it clears is not heard any more.
            if !engine.hears(source.peerID) { forgetEphemerals(of: source.peerID) }
        }
        company.install(members, of: engine.group)
    }

    /// The others go on without this device.
    mutating func recordOwnDeparture(view: UInt64) {
        company.record(
            SessionDeparture(
                source: engine.source, reason: engine.isLeaving ? .left : .fenced, moment: moment.now, viewNumber: view)
        )
        directives.showsStatus = true
    }

    private func reason(toCloseOne source: SessionSource, _ members: [SessionSource]) -> SessionDeparture.Reason {
        let heard = heard[source.peerID]
        let livesOn = heard?.incarnation.map { $0 != source.incarnation } ?? false
        if livesOn || members.contains(where: { $0.peerID == source.peerID }) { return .replaced }
        if company.leaving.contains(source) { return .left }
        if let peerID = company.goneOnBy[source] { return .goneOn(by: peerID) }
        // Suspicion is updated with each exchange. The link may have lost the peer since.
        let isSilent =
            company.suspected.contains(source.peerID)
            || heard.map { isGone(source.peerID, heardAt: $0.at) } ?? false
        return isSilent ? .silent(since: heard?.at) : .untold
    }
}
