import Foundation
import MeshIdentity

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
    private static let defaultsKey = "sessionmesh.peerID"

    /// This install of the app.
    static func thisDevice(isStandIn: Bool) -> SessionPeer {
        let kept = isStandIn ? nil : UserDefaults.standard.string(forKey: defaultsKey)
        let id = kept ?? UUID().uuidString
        if kept == nil, !isStandIn { UserDefaults.standard.set(id, forKey: defaultsKey) }
        return SessionPeer(id: id, deviceClass: .current, appInstanceID: id, topology: .pairedCompanion)
    }
}

extension SessionPeerDeviceClass {
    static var current: SessionPeerDeviceClass {
        #if os(watchOS)
            .watch
        #elseif os(iOS)
            .phone
        #else
            .unknown
        #endif
    }
}
