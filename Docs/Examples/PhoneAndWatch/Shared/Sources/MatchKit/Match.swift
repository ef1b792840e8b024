import Foundation
import SessionMesh

/// A match: its goals and its clock.
public struct Match: SessionFeature {
    public static let featureID = "match"

    public enum Side: String, Codable, Sendable { case home, away }

    public struct Goal: Codable, Sendable, Equatable, Identifiable {
        public let id: UUID
        public let side: Side
        /// Seconds on the match clock.
        public let seconds: TimeInterval
    }

    public struct State: Codable, Sendable, Equatable {
        public var goals: [Goal] = []
        /// Nil until kick-off.
        public var clock: SessionTimerAnchor?
    }

    public enum Event: Codable, Sendable {
        case goal(Side, at: Date)
        case takeBack(goal: UUID)
        case start(at: Date)
        case pause(at: Date)
        case newMatch
    }

    public let initialState = State()

    public init() {}

    public func reduce(state: inout State, event: Event, context: SessionEventContext) {
        switch event {
        case .goal(let side, let moment):
            let seconds = state.clock?.elapsed(at: moment) ?? 0
            state.goals.append(Goal(id: context.uuid(), side: side, seconds: seconds))
        case .takeBack(let goal):
            state.goals.removeAll { $0.id == goal }
        case .start(let moment):
            if state.clock == nil { state.clock = .start(at: moment) } else { state.clock?.resume(at: moment) }
        case .pause(let moment):
            state.clock?.pause(at: moment)
        case .newMatch:
            state = initialState
        }
    }
}
