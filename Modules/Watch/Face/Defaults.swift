import Foundation
import MeshIdentity
import MeshTransport

extension URL {
    /// The connection's own folder, where the app names none.
    static func sessionMesh(isStandIn: Bool) -> URL {
        let name = "SessionMesh"
        let manager = FileManager.default
        if !isStandIn, let support = manager.urls(for: .applicationSupportDirectory, in: .userDomainMask).first {
            return support.appendingPathComponent(name)
        }
        return manager.temporaryDirectory.appendingPathComponent("\(name)-\(UUID().uuidString)")
    }
}

extension SessionPeer {
    /// This installation of the app; of a session that only stands in for a real one, a new installation each time.
    static func thisDevice(isStandIn: Bool) -> SessionPeer {
        guard isStandIn else { return .thisDevice(topology: .pairedCompanion) }
        return SessionPeer(
            id: UUID().uuidString, deviceClass: .unknown, appInstanceID: UUID().uuidString, topology: .pairedCompanion)
    }
}
