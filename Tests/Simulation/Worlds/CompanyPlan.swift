/// How a group whose members change begins, and what its apps are like.
struct CompanyPlan: Sendable, Equatable {
    /// Who is there from the beginning: members of one group, or two that find each other. The others are let in.
    var founders: SmallSet = []
    /// Milliseconds after which an app suspects a peer that it has not heard; nil where no app suspects anybody.
    var lease: Int? = 600
    /// Each link knows who is at its other end and takes nothing that another peer is said to have written.
    var hasProvenLinks = false
    /// Exchanges are that many times rarer than in a group of two.
    var pace: UInt64 = 1
}

/// What happens to who belongs to a group.
public enum CompanyFault: Sendable, Equatable {
    /// The peer comes; the user of another one, or of the next that is a member, lets it in.
    case invitation(by: Int)
    /// The peer leaves for good.
    case leaving
    /// The peer's user does not wait for the others any more.
    case goingOn
    /// The lowest member of the newest view, which would be the first to propose the next one; the peer where there is none.
    case primaryLost(Loss)

    public enum Loss: Sendable, Equatable, CaseIterable {
        /// It stops and never comes back.
        case forGood
        case ofStore
        /// It stops for some seconds.
        case forAWhile
    }
}

extension CompanyFault: CustomStringConvertible {
    /// What follows on the peer's name.
    public var description: String {
        switch self {
        case .invitation(let other): " comes and is let in by \(Schedule.name(of: other))"
        case .leaving: " leaves"
        case .goingOn: " goes on without the others"
        case .primaryLost(.forGood): ", or whoever is the lowest member then, stops for good"
        case .primaryLost(.ofStore): ", or whoever is the lowest member then, loses its store"
        case .primaryLost(.forAWhile): ", or whoever is the lowest member then, is not running for a while"
        }
    }
}

extension CompanyPlan: CustomStringConvertible {
    var description: String {
        var parts = ["at first \(Schedule.names(of: founders))"]
        parts.append(lease.map { "suspected after \($0) ms" } ?? "nobody suspects")
        if hasProvenLinks { parts.append("proven links") }
        return parts.joined(separator: ", ")
    }
}
