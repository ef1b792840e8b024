import Foundation
import MeshEngine
import MeshSession
package import MeshTransport

/// Opens one session on each of one user's devices, without invitations. Each taps its number once.
/// - Parameter transports: The devices' transports, started at the same time.
/// - Returns: The taps that all of them show, in ascending order.
/// - Throws: `WaitedInVain` if they don't become one group with one state.
@MainActor package func tapsOfOneGroup(over transports: [any SessionSyncTransport]) async throws -> [Int] {
    let sessionID = UUID()
    let sessions = transports.map { transport in
        SyncedSession(
            sessionID: sessionID, featureID: "taps", transport: transport, initialState: [Int](),
            reducer: TapsReducer(), conflictPolicy: AcceptingConflictPolicy())
    }
    for session in sessions { session.start() }
    for (number, session) in sessions.enumerated() { try session.submit(number) }
    let end = ContinuousClock.now + patience
    while !sessions.allSatisfy({ $0.memberIDs.count == sessions.count && $0.state.count == sessions.count })
        || Set(sessions.map(\.state)).count > 1
    {
        guard ContinuousClock.now < end else {
            throw WaitTimedOut(description: "the devices didn't become one group in time")
        }
        try await Task.sleep(for: .milliseconds(20))
    }
    let taps = sessions[0].state.sorted()
    for session in sessions { try await session.close() }
    return taps
}

private struct TapsReducer: SessionSyncReducer {
    func reduce(state: inout [Int], event: Int, context: SessionEventContext) { state.append(event) }
}
