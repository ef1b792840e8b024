/// The start of a group with changing members, and the settings of its apps.
struct MembershipPlan: Sendable, Equatable {
    /// The peers present from the start: members of one group, or two peers that find each other. The others are
    /// invited.
    var founders: SmallSet = []
    /// Milliseconds of silence after which an app suspects a peer; nil if apps never suspect peers.
    var lease: Int? = 600
    /// True if each link proves the peer at its other end and rejects frames that name another author.
    var hasProvenLinks = false
    /// The factor by which exchanges are rarer than in groups of up to five peers.
    var pace: UInt64 = 1
}

/// A membership event: a peer joins, leaves, or is lost.
public enum MembershipFault: Sendable, Equatable {
    /// The peer appears. The user of `by`, or of the next peer that is a member, invites it.
    case invitation(by: Int)
    /// The peer leaves for good.
    case leaving
    /// The peer's user removes the others.
    case goingOn
    /// The lowest member of the newest view is lost. It would be the first to propose the next view. If there is no
    /// such member, the peer itself is lost.
    case primaryLost(Loss)

    public enum Loss: Sendable, Equatable, CaseIterable {
        /// It stops and never comes back.
        case forGood
        case ofStore
        /// It stops for some seconds.
        case forAWhile
    }
}

extension MembershipFault: CustomStringConvertible {
    /// The text that follows the peer's name.
    public var description: String {
        switch self {
        case .invitation(let other): " joins, invited by \(Schedule.name(of: other))"
        case .leaving: " leaves"
        case .goingOn: " removes the others"
        case .primaryLost(.forGood): ", or the lowest member at that time, stops for good"
        case .primaryLost(.ofStore): ", or the lowest member at that time, loses its store"
        case .primaryLost(.forAWhile): ", or the lowest member at that time, stops for a while"
        }
    }
}

extension MembershipPlan: CustomStringConvertible {
    var description: String {
        var parts = ["at first \(Schedule.names(of: founders))"]
        parts.append(lease.map { "suspected after \($0) ms" } ?? "no peer suspects another")
        if hasProvenLinks { parts.append("proven links") }
        return parts.joined(separator: ", ")
    }
}
