import Foundation
import MeshEngine
import MeshSeries
import MeshSession

struct Workout: Codable, Sendable {}
enum WorkoutEvent: Codable, Sendable { case lap(metres: Double) }
struct WorkoutReducer: SessionSyncReducer {
    func reduce(state: inout Workout, event: WorkoutEvent, context: SessionEventContext) {}
}
typealias WorkoutSession = SyncedSession<
    Workout, WorkoutEvent, WorkoutReducer, AcceptingConflictPolicy<Workout, WorkoutEvent>
>
@MainActor var session: WorkoutSession { fatalError() }
let start = Date(timeIntervalSince1970: 1_767_225_600)
