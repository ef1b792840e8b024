import MeshEngine
import MeshIdentity

/// The membership state of a group with changing members: each app's view of its peers, and its user's decisions.
struct WorldMembership {
    let plan: MembershipPlan
    /// Virtual microseconds at which each app last heard each other peer, by peer.
    var heard: [[UInt64]]
    /// Virtual microseconds at which each app last received a control with a group from each other peer, by peer.
    var reported: [[UInt64]]
    /// Peers that haven't joined yet.
    var absent: SmallSet = []
    /// Peers that are about to leave. Their users tap no more. `gone` has the peers that have left.
    var leaving: SmallSet = []
    var gone: SmallSet = []
    /// Peers whose users decided to continue without the others.
    var goingOn: SmallSet = []
    /// The standing of each peer at the last check.
    var standings: [Standing?]
    /// The branch of each peer's group.
    var branches: [Int]
    /// Sources that know that they are fenced.
    var fenced: Set<SessionSource> = []
    /// The events that fenced peers had folded when they were fenced.
    var leftBehind: [LeftBehind] = []
    /// The number of the newest view when users last decided.
    var lastSeen: UInt64?
    /// True if no member is left that can continue the group.
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

/// The part of each app that deals with its group: it reports silent peers to its engine, joins and leaves.
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

    /// Returns the group of a peer, and the group's branch.
    func line(of peer: Int) -> GroupLine? {
        replicas[peer].outline.group.map { GroupLine(group: $0, branch: membership?.branches[peer] ?? 0) }
    }

    /// Resets the silence timers of an app. An app that was just launched hasn't heard any peer yet, and suspects none.
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
