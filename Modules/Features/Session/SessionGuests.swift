import Foundation
import MeshBase
import MeshTransport

/// Introduces a session's peers to its transport as guests, and withdraws them when the session closes or is released.
final class SessionGuests: Sendable {
    private let transport: any SessionSyncTransport
    private let sessionID: UUID
    private let featureID: String
    private let hasAdmitted = Locked(false)

    init(_ transport: any SessionSyncTransport, sessionID: UUID, featureID: String) {
        self.transport = transport
        self.sessionID = sessionID
        self.featureID = featureID
    }

    deinit { end() }

    /// Admits these guests: the complete list, which replaces the previous one.
    func admit(_ peerIDs: Set<String>) {
        hasAdmitted.withLock { $0 = true }
        transport.admitGuests(peerIDs, toSession: sessionID, featureID: featureID)
    }

    func end() {
        let hadAdmitted = hasAdmitted.withLock { hasAdmitted in
            defer { hasAdmitted = false }
            return hasAdmitted
        }
        if hadAdmitted { transport.admitGuests([], toSession: sessionID, featureID: featureID) }
    }
}
