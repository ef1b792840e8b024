import Foundation
import MeshIdentity
import MeshTransport

extension URL {
    /// The folder that the connection uses unless the app configures one. A stand-in session gets a new temporary one.
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
    /// The peer for this installation of the app. A stand-in session gets a new identity each time.
    static func thisDevice(isStandIn: Bool) -> SessionPeer {
        guard isStandIn else { return .thisDevice(topology: .pairedCompanion) }
        return SessionPeer(
            id: UUID().uuidString, deviceClass: .unknown, appInstanceID: UUID().uuidString, topology: .pairedCompanion)
    }
}
