import Foundation
import MeshEngine
import MeshSQLiteStorage
import MeshSession
import MeshStorage
import MeshTesting
import MeshTransport
import Testing

struct Workout: Codable, Sendable {}
enum WorkoutEvent: Codable, Sendable { case pause }
struct WorkoutReducer: SessionSyncReducer {
    func reduce(state: inout Workout, event: WorkoutEvent, context: SessionEventContext) {}
}
typealias WorkoutPolicy = AcceptingConflictPolicy<Workout, WorkoutEvent>
let folder = "/folder"
let id = UUID()
var transport: any SessionSyncTransport { fatalError() }
typealias MyStore = SQLiteStore
