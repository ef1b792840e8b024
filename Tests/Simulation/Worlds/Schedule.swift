import MeshScenarioTransport

/// Everything that a seed decides before the first step: who takes part, what the network does to frames, who taps when,
/// and what goes wrong. Plain data, so that a failing one can be printed and made smaller.
public struct Schedule: Sendable, Equatable {
    public let seed: UInt64
    /// 2...5, and up to 16 in company.
    public let peerCount: Int
    /// Whether the peers begin as members of one group, as after pairing, instead of finding each other.
    public let isPaired: Bool
    public var conditions: Conditions
    public var taps: [Tap]
    public var faults: [PlannedFault]
    public var stores = SimulatedStores.perfect
    public var setting = SimulationSetting.ordinary
    /// Whether all peers are devices of one user, who invites none of them.
    public var isOwn = false
    /// Who lies, and when.
    var liar: Liar?
    public var lies: [PlannedLie] = []
    /// Of a group whose members change.
    var company: CompanyPlan?

    /// Virtual milliseconds in which taps and planned faults begin.
    var span = 3_000
    /// When everything is mended; the conditions hold until then.
    var healing = 5_700
    /// When all must agree.
    var end = 9_000
    static let peersMax = 16
}

/// What holds from the start until everything is mended.
public struct Conditions: Sendable, Equatable {
    /// The share of frames that vanish.
    var loss = 0.0
    /// The share of frames that arrive twice.
    var duplication = 0.0
    /// Milliseconds that every frame takes, and the mean of what is drawn on top.
    var latency = 0
    var jitter = 0
    /// The share of frames that come up to `tailMax` late.
    var longTail = 0.0
    /// The chance at each step that matters to crash in the middle of it.
    var crash = 0.0
    /// Milliseconds by which each peer's wall clock is off.
    var skew: [Int] = []
    /// Own events that may be unconfirmed.
    var ownEventsMax = 0
    /// The chance at each exchange that a peer sends a snapshot made by hand, state and vector only.
    var stateOnly = 0.0
    /// The chances that a commit is refused, and that the power goes in the middle of it.
    var refusedCommit = 0.0
    var tornCommit = 0.0
    /// The chance that a crash takes commits back that had succeeded, and of which peers.
    var lostSync = 0.0
    var forgetful: SmallSet = []
    /// Milliseconds in which a new store's engine makes no controls: its app knows only the reference's calls at first.
    var silentStart = 0
    /// Peers that write a version of the protocol of which the others know less.
    var newer: SmallSet = []
    /// Peers that stay as broken as they are when the others are mended.
    var abandoned: SmallSet = []
    /// Milliseconds in which peers use nothing but the reference's calls: nobody ticks, and no engine's message is sent.
    var silence = 0

    static let tailMax = 2_500
}

/// A local event.
public struct Tap: Sendable, Equatable {
    let at: Int
    let peer: Int
    /// What the feature makes its event from.
    let choice: UInt64
}

/// A hostile peer that is connected to all others and speaks for as long as not everything is mended.
enum Liar: Sendable, Equatable {
    /// Belongs to no group, and speaks to peers that are sealed.
    case stranger
    /// One of three and more: its own engine takes part, too.
    case member(Int)
    /// One of two.
    case partner(Int)
}

/// Something that the liar says.
public struct PlannedLie: Sendable, Equatable {
    let at: Int
    /// To whom and what follows from it.
    let choice: UInt64
}

public struct PlannedFault: Sendable, Equatable {
    let at: Int
    let duration: Int
    let peer: Int
    let fault: Fault
}

public enum Fault: Sendable, Equatable {
    /// Nothing passes from the peers in `side` to the others and, unless `isOneWay`, back.
    case partition(side: SmallSet, isOneWay: Bool)
    /// The process is gone; frames to it are lost; the store is as it was.
    case stop
    /// Frames wait.
    case pause
    /// Memory since the last persist is gone.
    case crash
    case loseStore
    /// The store is as it was that many milliseconds ago.
    case restoreStore(age: Int)
    case clockJump(Int)
    /// The peer is told that the others are reachable, or are not, whatever is true.
    case lie(isReachable: Bool)
    /// Milliseconds that the peer takes for each frame.
    case slow(Int)
    /// No fault: the peer ends the session.
    case end
    /// No faults either: what users do about who belongs to the group.
    case company(CompanyFault)
}

/// What a run looks for.
public enum SimulationSetting: String, CaseIterable, Sendable {
    /// Honest peers and everything that can go wrong.
    case ordinary
    /// Beside them a peer that lies: a stranger, a member, or the only other one.
    case liars
    /// Peers that use nothing but the reference's calls for a while.
    case late
    /// Two apps written for the reference over WatchConnectivity, killed and launched anew without their state.
    case original
    /// A peer without a store, more than a thousand times.
    case lives
    /// Groups of any size that members join and leave, and that go on without those that stay away.
    case company
    /// Groups whose members hear only the first one, which invites them. In half of the seeds another one reports members that
    /// don't exist.
    case hub
}

/// By what a report counts.
public enum FaultKind: Int, Sendable, CaseIterable {
    case loss, duplication, reordering, longTail
    case partition, oneWayPartition, stop, pause, slowConsumer, lyingReachability
    case crash, crashBeforePersist, crashAfterPersist, crashBeforeMark
    case lostStore, bothStoresLost, restoredStore
    case refusedCommit, tornCommit, lostSync
    case clockSkew, clockJump, mixedVersions, stateOnlySnapshot, abandonedPeer
    case lie, flood, relaunch, ending
    case longPartition, primaryLost, invitation, leaving, goingOn, speakingForAnother

    public var name: String { "\(self)" }

    private static let ofCompany: [FaultKind] = [
        .longPartition, .primaryLost, .invitation, .leaving, .goingOn, .speakingForAnother,
    ]

    /// The kinds that can happen.
    static func kinds(with stores: SimulatedStores, in setting: SimulationSetting) -> [FaultKind] {
        switch setting {
        case .original: return [.loss, .duplication, .longTail, .relaunch]
        case .lives: return [.lostStore]
        case .ordinary, .late, .liars, .company, .hub: break
        }
        var kinds = allCases.filter { $0 != .relaunch }
        if setting == .company || setting == .hub {
            kinds.removeAll { $0 == .restoredStore }
        } else {
            kinds.removeAll { ofCompany.contains($0) }
        }
        if stores == .perfect { kinds.removeAll { [.refusedCommit, .tornCommit, .lostSync].contains($0) } }
        if setting == .hub {
            kinds.removeAll { [.lostStore, .bothStoresLost, .primaryLost, .leaving, .goingOn, .flood].contains($0) }
        } else if setting != .liars {
            kinds.removeAll { [.lie, .flood].contains($0) }
        }
        return kinds
    }
}
