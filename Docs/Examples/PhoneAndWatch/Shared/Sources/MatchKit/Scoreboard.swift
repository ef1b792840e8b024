import Foundation
import SessionMesh

/// A match for a screen: properties to show and methods that change it.
///
/// SwiftUI observes the session that these properties read, so a view that reads them is redrawn when they change.
@MainActor public final class Scoreboard {
    private let session: SharedSession<Match>

    public init(_ session: SharedSession<Match>) { self.session = session }

    public var home: Int { session.state.goals.count { $0.side == .home } }
    public var away: Int { session.state.goals.count { $0.side == .away } }
    public var goals: [Match.Goal] { session.state.goals }
    public var isRunning: Bool { session.state.clock?.phase == .running }

    /// The match clock now, the same on both devices.
    public var time: Duration {
        guard let clock = session.state.clock, let session = session.session else { return .zero }
        return .seconds(Int(exactly: session.reading(of: clock).elapsed.rounded(.down)) ?? 0)
    }

    public func score(_ side: Match.Side) { session.send { .goal(side, at: $0) } }
    public func takeBack(_ goal: Match.Goal) { session.send(.takeBack(goal: goal.id)) }
    public func startOrPause() { isRunning ? session.send { .pause(at: $0) } : session.send { .start(at: $0) } }
    public func newMatch() { session.send(.newMatch) }

    /// The status of the other device as text; nil until this device has heard of one.
    public var otherDevice: String? {
        guard let peer = session.peers.first(where: \.isActive) ?? session.peers.first else { return nil }
        return switch peer.sync {
        case .upToDate: peer.isActive ? "Up to date" : "Away"
        case .behind(let count): peer.isActive ? "Behind by \(count)" : "Away, behind by \(count)"
        case .waiting, .provisional: "Connecting"
        case .notAdmitted, .elsewhere: "In another match"
        }
    }

    /// The current problems as text; empty if there are none.
    public var problems: [String] { session.problems.map(\.localizedDescription) }
}
