import MeshEngine
import MeshIdentity

typealias TrainingSession = SyncedSession<
    Training, TrainingEvent, TrainingReducer, AcceptingConflictPolicy<Training, TrainingEvent>
>

@MainActor struct Trainer { func begin(_ exercise: String) async throws -> Int { 1 } }
@MainActor let trainer = Trainer()
@MainActor var session: TrainingSession { fatalError() }
@MainActor var tap: TrainingEvent { fatalError() }
