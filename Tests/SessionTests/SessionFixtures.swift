import Foundation
import MeshEngine
import MeshIdentity
import MeshScenarioTransport
import MeshSession
import MeshTransport
import Testing

struct Counter: Codable, Sendable, Equatable {
    var total = 0
    var isOver = false
}

enum Tap: Codable, Sendable, Equatable {
    case add(Int)
    case end
}

struct CounterReducer: SessionSyncReducer {
    func reduce(state: inout Counter, event: Tap, context: SessionEventContext) {
        switch event {
        case .add(let amount): state.total += amount
        case .end: state.isOver = true
        }
    }
}

typealias CounterSession = SyncedSession<Counter, Tap, CounterReducer, AcceptingConflictPolicy<Counter, Tap>>

let phone = SessionPeer(id: "phone", deviceClass: .phone, appInstanceID: "phone.1", topology: .pairedCompanion)
let watch = SessionPeer(id: "watch", deviceClass: .watch, appInstanceID: "watch.1", topology: .pairedCompanion)
let sessionID = UUID(uuid: (7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7))

@MainActor
func makeSession(
    _ transport: any SessionSyncTransport, on network: ScenarioNetwork,
    configure: (inout SyncedSessionConfiguration<Counter, Tap>) -> Void = { _ in }
) -> CounterSession {
    var configuration = SyncedSessionConfiguration<Counter, Tap>()
    configuration.now = { network.now }
    configuration.wait = { duration in
        let end = network.elapsed + duration
        while network.elapsed < end {
            try Task.checkCancellation()
            await Task.yield()
        }
    }
    configure(&configuration)
    return SyncedSession(
        sessionID: sessionID, featureID: "counter", transport: transport, initialState: Counter(),
        reducer: CounterReducer(), conflictPolicy: AcceptingConflictPolicy(), configuration: configuration)
}

extension ScenarioNetwork {
    /// Lets virtual time and the tasks of the sessions take turns until the condition holds. Gives up after a number of
    /// turns that no test here needs.
    @MainActor
    func settle(
        until condition: () -> Bool, sourceLocation: SourceLocation = #_sourceLocation
    ) async {
        for _ in 0..<2_000 {
            if condition() { return }
            advance(by: .milliseconds(10))
            for _ in 0..<10 { await Task.yield() }
        }
        Issue.record("nothing settled; seed \(seed)", sourceLocation: sourceLocation)
    }

    /// Lets everything that is under way arrive and be handled.
    @MainActor
    func settle() async {
        for _ in 0..<50 {
            advance(by: .milliseconds(100))
            for _ in 0..<20 { await Task.yield() }
        }
    }
}
