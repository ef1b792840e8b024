import MeshEngine
import MeshIdentity
import MeshStorage
import MeshTransport

struct GroceryFeature: SessionFeature {
    struct State: Codable, Sendable { var items: [String] = [] }
    enum Event: Codable, Sendable { case add(String), buy(String) }
    static let featureID = "groceries"
    let initialState = State()

    func reduce(state: inout State, event: Event, context: SessionEventContext) {}
}

struct Workout: SessionFeature {
    struct State: Codable, Sendable { var isRunning = false }
    enum Event: Codable, Sendable { case start }
    static let featureID = "workout"
    let initialState = State()

    func reduce(state: inout State, event: Event, context: SessionEventContext) { state.isRunning = true }
}

@MainActor struct Trainer { func begin(_ exercise: String) async throws -> Int { 1 } }
@MainActor let trainer = Trainer()
@MainActor var training: SessionOf<Training> { fatalError() }
@MainActor var transport: any SessionSyncTransport { fatalError() }
@MainActor var store: (any SessionStore)? { nil }
