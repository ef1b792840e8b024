import MeshKeySync
import SessionMesh

struct Game: SessionFeature {
    static let featureID = "game"
    enum Event: Codable, Sendable { case start }
    struct State: Codable, Sendable, Equatable {}

    let initialState = State()

    func reduce(state: inout State, event: Event, context: SessionEventContext) {}
}
struct Settings: Codable, Sendable, Equatable { var volume = 5 }
let volume = StorageKey<Int>("volume")
@MainActor var game: SharedSession<Game> { fatalError() }
@MainActor var settings: SharedState<Settings> { fatalError() }
