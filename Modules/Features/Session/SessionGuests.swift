import Foundation
import MeshBase
import MeshTransport

/// Names those who belong to a session to its transport, and takes that back when the session closes or is let go.
final class SessionGuests: Sendable {
    private let transport: any SessionSyncTransport
    private let sessionID: UUID
    private let featureID: String
    private let hasNamed = Locked(false)

    init(_ transport: any SessionSyncTransport, sessionID: UUID, featureID: String) {
        self.transport = transport
        self.sessionID = sessionID
        self.featureID = featureID
    }

    deinit { end() }

    /// All of them, each time.
    func name(_ peerIDs: Set<String>) {
        hasNamed.withLock { $0 = true }
        transport.admitGuests(peerIDs, toSession: sessionID, featureID: featureID)
    }

    func end() {
        let wasNamed = hasNamed.withLock { hasNamed in
            defer { hasNamed = false }
            return hasNamed
        }
        if wasNamed { transport.admitGuests([], toSession: sessionID, featureID: featureID) }
    }
}
