import MeshEngine
import MeshIdentity

/// The membership state of each app in a group with changing members, and the decisions left to users.
struct WorldMembership {
    let plan: MembershipPlan
    /// Virtual microseconds at which each app last heard each other peer, by peer.
    var heard: [[UInt64]]
    /// Virtual microseconds at which each app last heard each other peer name its group, by peer. Not every frame does.
    var reported: [[UInt64]]
    /// Peers that haven't joined yet.
    var absent: SmallSet = []
    /// Peers whose users have left and tap no more. `gone` has the ones that the group has released.
    var leaving: SmallSet = []
    var gone: SmallSet = []
    /// Peers whose users decided to continue without the others.
    var goingOn: SmallSet = []
    /// The standing of each peer at the last check.
    var standings: [Standing?]
    /// The branch of each peer's group.
    var branches: [Int]
    /// Fenced sources: they know that the others continue without them.
    var fenced: Set<SessionSource> = []
    /// The contents of fenced peers' bases when they were fenced.
    var leftBehind: [LeftBehind] = []
    /// The newest view at the users' last decision.
    var lastSeen: UInt64?
    /// True if no member is left that could continue the group.
    var isLost = false

    struct LeftBehind {
        let peer: Int
        let line: GroupLine
        let folded: SequenceVector
    }

    struct Standing: Equatable {
        let source: SessionSource
        let group: SessionSource?
        let number: UInt64
        let launchCount: Int
    }

    init(_ plan: MembershipPlan, peerCount: Int) {
        self.plan = plan
        heard = Array(repeating: Array(repeating: 0, count: peerCount), count: peerCount)
        reported = heard
        standings = Array(repeating: nil, count: peerCount)
        branches = Array(repeating: 0, count: peerCount)
        for peer in 0..<peerCount where !plan.founders.contains(peer) { absent.insert(peer) }
    }
}

/// The group duties of an app: it reports silent peers to its engine, joins and leaves.
extension World {
    func stopAbsentPeers() {
        for peer in replicas.indices where isOut(peer) { situations[peer].isRunning = false }
    }

    /// True if the peer hasn't joined yet, or has left.
    func isOut(_ peer: Int) -> Bool {
        guard let membership else { return false }
        return membership.absent.contains(peer) || membership.gone.contains(peer)
    }

    func isLeaving(_ peer: Int) -> Bool { membership?.leaving.contains(peer) ?? false }

    /// The group of a peer, and its branch.
    func line(of peer: Int) -> GroupLine? {
        replicas[peer].outline.group.map { GroupLine(group: $0, branch: membership?.branches[peer] ?? 0) }
    }

    /// Resets silence timers: a launched app hasn't heard any peer yet and waits for all.
    func forgetSilence(of peer: Int) {
        guard membership != nil else { return }
        membership?.heard[peer] = replicas.map { _ in now }
        membership?.reported[peer] = replicas.map { _ in now }
    }

    func suspectUnheard(_ peer: Int) {
        guard let membership, let lease = membership.plan.lease else { return }
        let silent = replicas.indices.filter { other in
            other != peer && now - min(now, membership.heard[peer][other]) > UInt64(lease) * 1_000
        }
        replicas[peer].engine.suspect(Set(silent.map(name)))
    }

    /// True if a link joins the two peers. It may still lose frames.
    func isConnected(_ one: Int, _ other: Int) -> Bool { schedule.setting != .hub || one == 0 || other == 0 }

    /// True if a link accepts the frame. A link may prove the identity of its peer.
    func canPass(_ frame: Frame<Feature>, from sender: Int, to receiver: Int) -> Bool {
        guard let membership, membership.plan.hasProvenLinks, let author = frame.author, author != name(sender) else {
            return true
        }
        outcome.faults[.speakingForAnother] += 1
        trace(receiver) { "rejects from \(name(sender)): \(frame)" }
        return false
    }

    // MARK: - Alarms

    /// - Returns: True if the alarm was expected and is handled.
    func handleMembershipAlarm(_ alarm: SessionAlarm, at peer: Int) throws(Violation) -> Bool {
        guard membership != nil else { return false }
        switch alarm {
        case .fenced: return true
        case .forked(let place) where place.source == replicas[peer].outline.source:
            guard membership?.fenced.contains(place.source) ?? false else { return false }
            if isLeaving(peer) {
                go(peer)
            } else {
                try takeAnotherName(peer)
            }
            return true
        // A user's device may meet a peer that only another user has invited.
        case .notAdmitted: return true
        case .forked, .promiseBroken, .diverged: return ghost.views.mayBranch
        default: return false
        }
    }

    private func go(_ peer: Int) {
        trace(peer) { "has left" }
        forgiveStore(of: peer)
        membership?.gone.insert(peer)
        situations[peer].isRunning = false
    }

    /// Allows the loss of events that only this peer's store has.
    func forgiveStore(of peer: Int) {
        ghost.forgive(eventsNotIn: otherStores(than: peer))
        if membership != nil { ghost.expectCuts(of: name(peer)) }
    }
}
