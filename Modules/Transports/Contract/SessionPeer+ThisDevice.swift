import MeshBase
public import MeshIdentity

#if canImport(Darwin)
    import Foundation
#else
    import MeshFoundation
#endif

extension SessionPeer {
    /// Returns the peer of this installation of the app.
    ///
    /// The ID is random, made at the first call and kept: on Apple's systems in `UserDefaults.standard`, elsewhere in a
    /// file named after the program in `$XDG_STATE_HOME/sessionmesh` (XDG Base Directory Specification 0.8). If it
    /// can't be kept, debug builds print why, and the ID lasts as long as the process. Safe to use from any thread; the
    /// first call reads a file.
    ///
    /// - Parameter name: distinguishes several peers of one program on one device, such as two terminals.
    public static func thisDevice(named name: String = "", topology: SessionPeerTopology = .unknown) -> SessionPeer {
        SessionPeer(
            id: name.isEmpty ? installation.id : "\(installation.id).\(name)", deviceClass: .current,
            appInstanceID: installation.launchID, topology: topology)
    }

    private static let installation = Installation()
}

private struct Installation {
    let id: String
    let launchID = Self.makeID()

    init() {
        #if canImport(Darwin)
            let key = "sessionmesh.peerID"
            if let kept = UserDefaults.standard.string(forKey: key), !kept.isEmpty {
                id = kept
            } else {
                id = Self.makeID()
                UserDefaults.standard.set(id, forKey: key)
            }
        #else
            do { id = try Self.keptID() } catch {
                id = Self.makeID()
                #if DEBUG
                    StandardError.print("this device's peer ID can't be kept, so it changes with each launch: \(error)")
                #endif
            }
        #endif
    }

    private static func makeID() -> String { UUID().uuidString }

    #if !canImport(Darwin)
        private static func keptID() throws -> String {
            let process = ProcessInfo.processInfo
            let state = process.environment["XDG_STATE_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil }
            let folder =
                (state ?? FileManager.default.homeDirectoryForCurrentUser.path + "/.local/state") + "/sessionmesh"
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            let file = try PrivateFile<InstallationError>("\(folder)/\(process.processName).peer")
            _ = try file.create(Array(makeID().utf8))
            let bytes = try file.read(bytesMax: 64) ?? []
            guard let id = String(validating: bytes, as: UTF8.self), UUID(uuidString: id) != nil else {
                throw InstallationError(description: "'\(file.path)' doesn't hold an ID")
            }
            return id
        }
    #endif
}

private struct InstallationError: PrivateFileFailure, CustomStringConvertible {
    let description: String
}

extension InstallationError {
    init(_ problem: PrivateFileProblem, _ message: String, errorNumber: Int32) { description = message }
}

extension SessionPeerDeviceClass {
    /// The class of this device. `os(iOS)` is true on an iPad too, so the model identifier decides.
    fileprivate static var current: SessionPeerDeviceClass {
        #if os(watchOS)
            .watch
        #elseif os(tvOS)
            .television
        #elseif os(visionOS)
            .headset
        #elseif os(iOS) && !targetEnvironment(macCatalyst)
            isIPad ? .tablet : .phone
        #elseif os(Android)
            .phone
        #else
            .desktop
        #endif
    }

    #if os(iOS)
        private static var isIPad: Bool {
            let simulated = ProcessInfo.processInfo.environment["SIMULATOR_MODEL_IDENTIFIER"]
            var system = utsname()
            uname(&system)
            let model = withUnsafeBytes(of: &system.machine) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
            return (simulated ?? model).hasPrefix("iPad")
        }
    #endif
}
