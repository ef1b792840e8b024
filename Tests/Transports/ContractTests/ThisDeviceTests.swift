import Foundation
import MeshIdentity
import MeshTransport
import Testing

@Suite struct ThisDeviceTests {
    @Test func `a device is always the same peer, and another name makes another peer`() {
        let peer = SessionPeer.thisDevice(topology: .pairedCompanion)
        #expect(UUID(uuidString: peer.id) != nil)
        #expect(SessionPeer.thisDevice(topology: .pairedCompanion) == peer)
        let named = SessionPeer.thisDevice(named: "watch")
        #expect(named.id == "\(peer.id).watch")
        #expect(named.appInstanceID == peer.appInstanceID)
    }

    #if os(Linux)
        @Test func `its ID is kept for the next launch, where only this user reads it`() throws {
            let peer = SessionPeer.thisDevice()
            let process = ProcessInfo.processInfo
            let state = process.environment["XDG_STATE_HOME"] ?? NSHomeDirectory() + "/.local/state"
            let file = "\(state)/sessionmesh/\(process.processName).peer"
            #expect(try String(contentsOfFile: file, encoding: .utf8) == peer.id)
            let attributes = try FileManager.default.attributesOfItem(atPath: file)
            #expect(attributes[.posixPermissions] as? Int == 0o600)
        }
    #endif
}
