import Foundation
import MeshEngine
import MeshSession
package import MeshTransport
import Testing

/// Opens one session on each of one user's devices, invites none of them, and expects them to end with one state.
/// - Parameter transports: started, at the same time.
@MainActor package func expectOneGroup(over transports: [any SessionSyncTransport]) async throws {
    let sessionID = UUID()
    let sessions = transports.map { transport in
        SyncedSession(
            sessionID: sessionID, featureID: "names", transport: transport, initialState: [String](),
            reducer: NamesReducer(), conflictPolicy: AcceptingConflictPolicy())
    }
    for session in sessions { session.start() }
    for (number, session) in sessions.enumerated() { try session.submit("device \(number)") }
    let end = ContinuousClock.now + patience
    while ContinuousClock.now < end,
        !sessions.allSatisfy({ $0.memberIDs.count == sessions.count && $0.state.count == sessions.count })
    {
        try await Task.sleep(for: .milliseconds(20))
    }
    #expect(sessions.allSatisfy { $0.memberIDs.count == sessions.count })
    #expect(Set(sessions.map(\.state)).count == 1)
    #expect(sessions[0].state.sorted() == sessions.indices.map { "device \($0)" })
    for session in sessions { try await session.close() }
}

private struct NamesReducer: SessionSyncReducer {
    func reduce(state: inout [String], event: String, context: SessionEventContext) { state.append(event) }
}
