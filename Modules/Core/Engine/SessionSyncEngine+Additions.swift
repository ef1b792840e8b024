import MeshIdentity

/// The members of the group as one of them reports them in its own controls.
struct MemberReport: Sendable {
    /// The latest view that it has reported, and the members of that view.
    private var number: UInt64 = 0
    private(set) var members: [SessionSource] = []
    /// The members that it says it has heard itself.
    private(set) var heard: Set<SessionSource> = []
    /// Number of ticks for which it has reported these members.
    private(set) var ticks = 0
    /// Number of ticks since its last control.
    private(set) var silentTicks = 0

    /// Number of ticks after which a silent member is out of reach, and after which a report that the others can't contradict
    /// is followed.
    static let ticksMax = 60

    mutating func take(_ control: SessionControl) {
        silentTicks = 0
        let reported = control.view?.number ?? 0
        guard reported >= number, control.members.count <= SessionMembership.openMax else { return }
        if control.members != members { ticks = 0 }
        (number, members) = (reported, control.members)
        heard.formUnion(control.clockEchoes.map(\.source))
        heard.formIntersection(members)
    }

    mutating func age() {
        ticks += 1
        silentTicks += 1
    }
}

/// Additions by majority (rule 24 of Docs/Convergence.md): a member that did not take part in deciding a view follows it only
/// when a majority of the members in reach report it.
///
/// Otherwise one member could add members that don't exist, and the group would wait for them for ever. Waiting is safe: a
/// member that waits is like one that has not heard of the view yet.
extension SessionSyncEngine {
    /// Takes what a source says of the members. The next life of a member reports for it, as does an invited peer that says it
    /// has joined: either may be the only one left that knows the view.
    mutating func takeReport(_ message: EngineMessage<State, Event>, of slot: Int) {
        guard message.control.group == groupName else { return }
        let peerID = message.source.peerID
        guard let witness = sources.openSlot(ofPeer: peerID) ?? (isTrusted(peerID) ? slot : nil) else {
            return
        }
        sources[witness].report.take(message.control)
    }

    /// Whether this member installs a view of which it hears: it has accepted the additions, or a majority of those in reach
    /// report them. This member doesn't count, so it follows the only other one in reach.
    func isBelieved(_ record: SessionViewRecord) -> Bool {
        let change = stance.change
        let accepted = change?.accepted?.record.membership.open.map(\.source) ?? []
        let added = record.membership.open.map(\.source).filter { source in
            !accepted.contains(source) && sources.slot(of: source).map { !sources[$0].isOpen } ?? true
        }
        if added.isEmpty { return true }
        let inReach = sources.indices.dropFirst().filter { isWitness($0) && isInReach($0) }
        let reporters = inReach.filter { Set(sources[$0].report.members).isSuperset(of: added) }
        if 2 * reporters.count > inReach.count { return true }
        // Members that hear of the view from the same one would wait for each other, if the rest of those that decided it is
        // gone. They follow it once those that may have decided it are a majority.
        guard reporters.contains(where: { sources[$0].report.ticks > MemberReport.ticksMax }) else { return false }
        let deciders = openSlots.filter { reporters.contains($0) || !isInReach($0) || vote(of: $0) != nil }
        return isMajority(deciders.count)
    }

    private func isWitness(_ slot: Int) -> Bool {
        sources[slot].isOpen || !sources[slot].isClosed && !sources[slot].report.members.isEmpty
    }

    func isInReach(_ slot: Int) -> Bool {
        !wishes.suspected.contains(sources[slot].source.peerID)
            && sources[slot].report.silentTicks <= MemberReport.ticksMax
    }

    /// Whether this member has heard that one, or a member that is not excluded says so of itself.
    func isVouched(_ slot: Int, excluding excluded: Set<SessionSource>) -> Bool {
        let source = sources[slot].source
        return sources[slot].lastHeard != nil || !sources[slot].acknowledged.isEmpty
            || openSlots.dropFirst().contains { other in
                !excluded.contains(sources[other].source) && sources[other].report.heard.contains(source)
            }
    }
}
