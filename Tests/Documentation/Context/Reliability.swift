import MeshEngine
import MeshSession

struct Workout: Codable, Sendable {}
enum WorkoutEvent: Codable, Sendable { case pause }
struct WorkoutReducer: SessionSyncReducer {
    func reduce(state: inout Workout, event: WorkoutEvent, context: SessionEventContext) {}
}
@MainActor var session:
    SyncedSession<Workout, WorkoutEvent, WorkoutReducer, AcceptingConflictPolicy<Workout, WorkoutEvent>>
{ fatalError() }
