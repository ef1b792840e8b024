import MeshEngine
import MeshIdentity

/// What the apps of a group know whose members change, and what is left to its users.
struct WorldCompany {
    let plan: CompanyPlan
    /// By peer: virtual microseconds at which its app heard each other peer last.
    var heard: [[UInt64]]
    /// The same of what another peer says of its group, which its other frames may outlive.
    var reported: [[UInt64]]
    /// Who has not come yet.
    var absent: SmallSet = []
    /// Whose users have left: they tap no more. And who of them was let go.
    var leaving: SmallSet = []
    var gone: SmallSet = []
    /// Who has gone on by its user's word.
    var goingOn: SmallSet = []
    /// By peer: where it stood when it was looked at last.
    var standings: [Standing?]
    /// By peer: the branch of its group.
    var branches: [Int]
    /// Sources that have heard that the others go on without them.
    var fenced: Set<SessionSource> = []
    /// What was in the bases of those at that moment.
    var leftBehind: [LeftBehind] = []
    /// The newest view when users looked last.
    var lastSeen: UInt64?
    /// Nobody is left who could go on with the group.
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

    init(_ plan: CompanyPlan, peerCount: Int) {
        self.plan = plan
        heard = Array(repeating: Array(repeating: 0, count: peerCount), count: peerCount)
        reported = heard
        standings = Array(repeating: nil, count: peerCount)
        branches = Array(repeating: 0, count: peerCount)
        for peer in 0..<peerCount where !plan.founders.contains(peer) { absent.insert(peer) }
    }
}

/// What an app does for its engine about the group: it tells whom it has not heard, comes and goes.
extension World {
    func beginCompany() {
        for peer in replicas.indices where isOut(peer) { situations[peer].isRunning = false }
    }

    /// Whether the peer has not come yet, or has left.
    func isOut(_ peer: Int) -> Bool {
        guard let company else { return false }
        return company.absent.contains(peer) || company.gone.contains(peer)
    }

    func isLeaving(_ peer: Int) -> Bool { company?.leaving.contains(peer) ?? false }

    /// The group of a peer, and its branch.
    func line(of peer: Int) -> GroupLine? {
        replicas[peer].outline.group.map { GroupLine(group: $0, branch: company?.branches[peer] ?? 0) }
    }

    /// An app that was launched has heard nobody yet, and waits for all.
    func forgetSilence(of peer: Int) {
        guard company != nil else { return }
        company?.heard[peer] = replicas.map { _ in now }
        company?.reported[peer] = replicas.map { _ in now }
    }

    func suspectUnheard(_ peer: Int) {
        guard let company, let lease = company.plan.lease else { return }
        let silent = replicas.indices.filter { other in
            other != peer && now - min(now, company.heard[peer][other]) > UInt64(lease) * 1_000
        }
        replicas[peer].engine.suspect(Set(silent.map(name)))
    }

    /// Whether a link joins the two peers. It may still lose frames.
    func isConnected(_ one: Int, _ other: Int) -> Bool { schedule.setting != .hub || one == 0 || other == 0 }

    /// Whether a link takes the frame: it may prove who speaks.
    func canPass(_ frame: Frame<Feature>, from sender: Int, to receiver: Int) -> Bool {
        guard let company, company.plan.hasProvenLinks, let author = frame.author, author != name(sender) else {
            return true
        }
        outcome.faults[.speakingForAnother] += 1
        trace(receiver) { "refuses of \(name(sender)): \(frame)" }
        return false
    }

    // MARK: - Alarms

    /// - Returns: whether nothing more is to be done about it.
    func heedOfCompany(_ alarm: SessionAlarm, at peer: Int) throws(Violation) -> Bool {
        guard company != nil else { return false }
        switch alarm {
        case .fenced: return true
        case .forked(let place) where place.source == replicas[peer].outline.source:
            guard company?.fenced.contains(place.source) ?? false else { return false }
            if isLeaving(peer) {
                go(peer)
            } else {
                try takeAnotherName(peer)
            }
            return true
        // The user of the one has invited a peer that the other meets.
        case .notAdmitted: return true
        case .forked, .promiseBroken, .diverged: return ghost.views.mayBranch
        default: return false
        }
    }

    private func go(_ peer: Int) {
        trace(peer) { "has left" }
        forgiveStore(of: peer)
        company?.gone.insert(peer)
        situations[peer].isRunning = false
    }

    /// What only this peer's store has may be lost from now on.
    func forgiveStore(of peer: Int) {
        ghost.forgive(eventsNotIn: otherStores(than: peer))
        if company != nil { ghost.expectCuts(of: name(peer)) }
    }
}
