import MeshEngine
import MeshFoundation

/// A feature whose state is the numbers of all events in order. The state shows lost and duplicated events.
enum LapFeature: SimulatedFeature {
    struct Reducer: SessionSyncReducer {
        func reduce(state: inout [UInt32], event: UInt32, context: SessionEventContext) { state.append(event) }
    }

    static let id = "laps"
    static let initialState: [UInt32] = []
    static let reducer = Reducer()
    static let policy = AcceptingConflictPolicy<[UInt32], UInt32>()

    static func event(number: UInt32, choice: UInt64, moment: Date) -> UInt32 { number }
    static func count(of number: UInt32, in state: [UInt32]) -> Int? { state.count { $0 == number } }
}
