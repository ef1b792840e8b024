import MeshEngine
import MeshSession

/// The shared state of a lobby's devices: the numbers of the taps, and whether their session is over.
enum LobbyFeature {
    struct State: Codable, Hashable, Sendable {
        var numbers: [UInt32] = []
        var isOver = false
    }

    enum Event: Codable, Hashable, Sendable {
        case tap(UInt32)
        case end
    }

    struct Reducer: SessionSyncReducer {
        func reduce(state: inout State, event: Event, context: SessionEventContext) {
            switch event {
            case .tap(let number): state.numbers.append(number)
            case .end: state.isOver = true
            }
        }
    }

    typealias Policy = AcceptingConflictPolicy<State, Event>
    typealias Session = SyncedSession<State, Event, Reducer, Policy>
    typealias Lobby = SessionLobby<State, Event, Reducer, Policy>

    static let id = "lobby"
}
