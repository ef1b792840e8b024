/// Rules of the protocol that a run breaks on purpose, or leaves out to see whether they are needed.
///
/// Independent of `EngineMutation`: those break the engine, these the model of `Company`.
public enum CompanyMutation: Int, Sendable, CaseIterable {
    /// Promises said in a newer view than one's own count.
    case newerViewCounts
    /// One promise is enough to propose, one vote to decide.
    case noMajority
    /// A proposer ignores the decrees that others have accepted.
    case forgetsAccepted
    /// A higher ballot lifts the quarantine of the lower ones.
    case quarantineLifted
    case noQuarantine
    /// What is quarantined is not even shown.
    case quarantineHides
    /// A source ends where the proposer's own holding ends, without waiting until all hold equally much.
    case unequalClose
    /// A closing needs the answers of a majority only.
    case closeWithoutAll
    /// Events of closed sources are taken beyond their end.
    case closedHeard
    /// Events of quarantined sources are taken from quarantined members other than their author.
    case relayByQuarantined
    /// A crash loses ballot and vote.
    case voteUnpersisted
    /// A newcomer keeps its old stamps.
    case floorless
    /// Who returns issues again what it holds of any closed source.
    case reissueByOthers
    /// A record with an older number is installed.
    case olderDecree
    /// Who went on without others installs their view as if it followed its own.
    case otherSideInstalled

    // Rules that nothing was found to need; `CompanyMutation/isNeeded` says why.

    /// Promises go on after a ballot was promised.
    case noFreeze
    /// A crash loses the frozen promise.
    case freezeForgotten
    /// A newcomer's floor is what the proposer alone has frozen.
    case floorEarly
    /// A newcomer's floor is the lowest that any who promised has frozen.
    case floorLowest
    /// Newcomers have no floor; they only stamp above what their copy holds.
    case noFloor
    /// Acknowledgements said in a newer view count, promises do not.
    case newerHoldingCounts
    /// Statements of older views do not count.
    case olderViewIgnored

    /// What members of the other side say counts where its number is no higher. No seed has shown it: it takes a newcomer that
    /// both sides of a group let join, and late messages of the one that it adopted from at the other.
    case otherSideHeard
}

extension CompanyMutation {
    /// Whether runs fail that break it. Of those that do not, freezing and floors can be left out, even together:
    ///
    /// What is confirmed in a view was acknowledged in that view, or before, by every member that can give a copy later on. So
    /// each copy holds it, and a newcomer, which stamps above its copy, cannot get below it. Promises need not stop for that,
    /// and a floor adds nothing. Both are needed again where acknowledgements of newer views count.
    public var isExpectedToShow: Bool {
        switch self {
        case .noFreeze, .freezeForgotten, .floorEarly, .floorLowest, .noFloor, .newerHoldingCounts, .olderViewIgnored,
            .otherSideHeard:
            false
        default: true
        }
    }

    public var name: String { "\(self)" }

    public init?(name: String) {
        guard let mutation = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = mutation
    }
}

/// Which rules a member breaks.
struct CompanyRules: Hashable {
    private var bits: UInt32 = 0

    init(breaking mutations: Set<CompanyMutation> = []) {
        for mutation in mutations { bits |= 1 << UInt32(mutation.rawValue) }
    }

    func breaks(_ mutation: CompanyMutation) -> Bool { bits >> UInt32(mutation.rawValue) & 1 == 1 }
}
