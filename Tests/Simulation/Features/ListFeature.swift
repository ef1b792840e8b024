public import MeshEngine
public import MeshFoundation

/// A feature whose state is the numbers of the accepted events in order. Some events are accepted only after certain
/// others, so the state shows whether a policy ran at the wrong position.
public enum ListFeature: SimulatedFeature {
    public struct Event: Codable, Hashable, Sendable {
        public let number: UInt32
        public let isPicky: Bool
    }

    public struct Reducer: SessionSyncReducer {
        public func reduce(state: inout [UInt32], event: Event, context: SessionEventContext) {
            state.append(event.number)
        }
    }

    public struct Policy: SessionConflictPolicy {
        public func shouldApply(event: Event, context: SessionConflictContext<[UInt32]>) -> Bool {
            guard event.isPicky, let last = context.state.last else { return true }
            return last % 3 != event.number % 3
        }
    }

    public static let id = "list"
    public static let initialState: [UInt32] = []
    public static let reducer = Reducer()
    public static let policy = Policy()

    public static func event(number: UInt32, choice: UInt64, moment: Date) -> Event {
        Event(number: number, isPicky: choice % 5 < 2)
    }
}
