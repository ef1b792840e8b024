import MeshIdentity

/// What a member has said of the members, over its own lane.
struct MemberReport: Sendable {
    /// The view in which it was last, and that view's members.
    private var number: UInt64 = 0
    private(set) var members: [SessionSource] = []
    /// Those of them that it says it has heard itself.
    private(set) var heard: Set<SessionSource> = []
    /// Ticks for which it has named these members.
    private(set) var ticks = 0
    /// Ticks since it said anything.
    private(set) var silentTicks = 0

    /// A member that is neither suspected nor heard for so many ticks is out of reach; and for so long a member waits for
    /// others to confirm an addition that they can't contradict.
    static let ticksMax = 60

    mutating func take(_ control: SessionControl) {
        silentTicks = 0
        let said = control.view?.number ?? 0
        guard said >= number, control.members.count <= SessionMembership.openMax else { return }
        if control.members != members { ticks = 0 }
        (number, members) = (said, control.members)
        heard.formUnion(control.clockEchoes.map(\.source))
        heard.formIntersection(members)
    }

    mutating func age() {
        ticks += 1
        silentTicks += 1
    }
}

/// Additions by majority: a member that did not take part in deciding a view follows it only when others confirm it.
///
/// One member's word would otherwise be enough to add members that don't exist, and a group that waits for those confirms
/// nothing again. Waiting is always safe: a member that has not heard of a view yet decides nothing against it.
extension SessionSyncEngine {
    /// Whether this member takes part in a view of which it has heard: it has accepted that view itself, or a majority of the
    /// members in reach (this one not counted) are in it. Connected to one other member, it follows that one.
    func isBelieved(_ record: SessionViewRecord) -> Bool {
        let added = record.membership.open.map(\.source).filter { source in
            sources.slot(of: source).map { !sources[$0].isOpen } ?? true
        }
        if added.isEmpty || stance.change?.accepted?.record == record || mutations.contains(.additionOnHearsay) {
            return true
        }
        let inReach = openSlots.dropFirst().filter(isInReach)
        let reporters = inReach.filter { Set(sources[$0].report.members).isSuperset(of: added) }
        if 2 * reporters.count > inReach.count { return true }
        // Members that have heard of it from the same one would wait for each other. They follow it after a while if they
        // are so few that they could not decide anything without those that may have decided it.
        guard reporters.contains(where: { sources[$0].report.ticks > MemberReport.ticksMax }) else { return false }
        let deciders = openSlots.filter { reporters.contains($0) || !isInReach($0) || vote(of: $0) != nil }
        return isMajority(deciders.count)
    }

    private func isInReach(_ slot: Int) -> Bool {
        !wishes.suspected.contains(sources[slot].source.peerID)
            && sources[slot].report.silentTicks <= MemberReport.ticksMax
    }

    /// Whether this member, or another one besides those, has heard that one itself.
    func isVouched(_ slot: Int, without others: Set<SessionSource>) -> Bool {
        let source = sources[slot].source
        return sources[slot].lastHeard != nil || !sources[slot].acknowledged.isEmpty
            || openSlots.dropFirst().contains { other in
                !others.contains(sources[other].source) && sources[other].report.heard.contains(source)
            }
    }
}
