import Foundation
import MeshBase
import MeshTransport

/// Introduces a session's peers to its transport as guests, and withdraws them when the session closes or is released.
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

    /// - Parameter peerIDs: the complete list, which replaces the one before.
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
