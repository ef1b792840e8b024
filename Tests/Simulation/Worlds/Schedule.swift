import MeshScenarioTransport

/// Everything that a seed decides before the first step: the peers, the network's behavior, the taps and the faults.
/// Plain data, so that a failing schedule can be printed and shrunk.
public struct Schedule: Sendable, Equatable {
    public let seed: UInt64
    /// The number of peers: 2 to 5, or up to 16 in the settings `membership` and `hub`.
    public let peerCount: Int
    /// True if the peers begin as members of one group, as after pairing. Otherwise they have to find each other.
    public let isPaired: Bool
    public var conditions: Conditions
    public var taps: [Tap]
    public var faults: [PlannedFault]
    public var stores = SimulatedStores.perfect
    public var setting = SimulationSetting.ordinary
    /// True if all peers are devices of one user, who doesn't need to invite them.
    public var isOwn = false
    /// The hostile peer, if there is one.
    var liar: Liar?
    public var lies: [PlannedLie] = []
    /// The plan of a group whose members change.
    var membership: MembershipPlan?

    /// Virtual milliseconds during which taps and planned faults begin.
    var span = 3_000
    /// The virtual millisecond at which all faults and conditions end.
    var healing = 5_700
    /// The virtual millisecond at which all peers must agree.
    var end = 9_000
    static let peersMax = 16
}

/// Conditions that hold from the start until `healing`.
public struct Conditions: Sendable, Equatable {
    /// The share of frames that are lost.
    var loss = 0.0
    /// The share of frames that arrive twice.
    var duplication = 0.0
    /// The minimum delay of every frame in milliseconds, and the mean of the random delay added to it.
    var latency = 0
    var jitter = 0
    /// The share of frames that arrive up to `tailMax` milliseconds late.
    var longTail = 0.0
    /// The probability of a crash during each critical step.
    var crash = 0.0
    /// Milliseconds by which each peer's wall clock is wrong.
    var skew: [Int] = []
    /// The maximum number of unconfirmed own events.
    var ownEventsMax = 0
    /// The probability that a peer sends a manually built snapshot, with state and vector only, at each exchange.
    var stateOnly = 0.0
    /// The probabilities that a commit is rejected, and that the power fails during it.
    var refusedCommit = 0.0
    var tornCommit = 0.0
    /// The probability that a crash undoes successful commits, and the peers that this can happen to.
    var lostSync = 0.0
    var forgetful: SmallSet = []
    /// Milliseconds during which a new store's engine makes no controls, because its app uses only the reference API.
    var silentStart = 0
    /// Peers with a newer protocol version, parts of which the others can't read.
    var newer: SmallSet = []
    /// Peers that stay cut off, or stopped, when the faults of the others end.
    var abandoned: SmallSet = []
    /// Milliseconds during which peers use only the reference API: no peer ticks or sends engine messages.
    var silence = 0

    static let tailMax = 2_500
}

/// A local event.
public struct Tap: Sendable, Equatable {
    let at: Int
    let peer: Int
    /// The random number from which the feature makes its event.
    let choice: UInt64
}

/// A hostile peer that is connected to all others and lies until `healing`.
enum Liar: Sendable, Equatable {
    /// Belongs to no group, and talks to sealed peers.
    case stranger
    /// One of three or more members. Its own engine also takes part.
    case member(Int)
    /// One of two members.
    case partner(Int)
}

/// One lie of the hostile peer.
public struct PlannedLie: Sendable, Equatable {
    let at: Int
    /// The random number that selects the receiver and the lie.
    let choice: UInt64
}

public struct PlannedFault: Sendable, Equatable {
    let at: Int
    let duration: Int
    let peer: Int
    let fault: Fault
}

public enum Fault: Sendable, Equatable {
    /// No frame passes from the peers in `side` to the others, nor back unless `isOneWay`.
    case partition(side: SmallSet, isOneWay: Bool)
    /// The process is gone and frames to it are lost. The store is unchanged.
    case stop
    /// Frames to the peer wait.
    case pause
    /// Memory since the last persist is lost.
    case crash
    case loseStore
    /// The store goes back to its state of that many milliseconds ago.
    case restoreStore(age: Int)
    case clockJump(Int)
    /// The peer's transport reports the others as reachable or unreachable, regardless of the truth.
    case lie(isReachable: Bool)
    /// Milliseconds that the peer takes for each frame.
    case slow(Int)
    /// The peer ends the session. Not a fault, but planned like one.
    case end
    /// A peer joins, leaves or is lost, or a user removes peers. Planned like a fault, too.
    case membership(MembershipFault)
}

/// The kind of situation that a run simulates.
public enum SimulationSetting: String, CaseIterable, Sendable {
    /// Honest peers and everything that can go wrong.
    case ordinary
    /// Honest peers and one that lies: an unknown peer, a member, or the only other member.
    case liars
    /// Peers that use only the reference API (`submitLocal`, `receive`, `applySnapshot`) for a while.
    case late
    /// Two apps written for the reference API over WatchConnectivity, killed and relaunched without their state.
    case original
    /// A peer without a store, launched more than a thousand times.
    case incarnations = "lives"
    /// Groups of any size that members join and leave, and that continue without absent members.
    case membership = "company"
    /// Groups whose members hear only the first one, which invites them. In half of the seeds another member sends
    /// false lists of members.
    case hub
}

/// The kinds of faults that a report counts.
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

    private static let ofMembership: [FaultKind] = [
        .longPartition, .primaryLost, .invitation, .leaving, .goingOn, .speakingForAnother,
    ]

    /// The kinds that can happen in a setting.
    static func kinds(with stores: SimulatedStores, in setting: SimulationSetting) -> [FaultKind] {
        switch setting {
        case .original: return [.loss, .duplication, .longTail, .relaunch]
        case .incarnations: return [.lostStore]
        case .ordinary, .late, .liars, .membership, .hub: break
        }
        var kinds = allCases.filter { $0 != .relaunch }
        if setting == .membership || setting == .hub {
            kinds.removeAll { $0 == .restoredStore }
        } else {
            kinds.removeAll { ofMembership.contains($0) }
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
