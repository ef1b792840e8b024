#if CommandLineTools
    import Foundation
    import MeshBase
    import MeshStorage
    import MeshToolOutput

    #if SQLite
        import MeshSQLiteStorage
    #endif

    /// The folder in which a peer keeps its identity, the peers it is paired with, and its workout.
    ///
    /// Only one live peer at a time may use it. The others would reject two peers with one identity as a clone.
    final class PeerHome: Sendable {
        let folder: URL
        /// The lock's descriptor; -1 for processes that only read and pair, which may run while a peer is live.
        private let lock: Int32

        /// - Parameters:
        ///   - folder: If nil, a folder with the peer's name below `sessionmesh` in `XDG_CONFIG_HOME` or `~/.config`.
        ///   - isLive: True for exclusive use by a live peer.
        /// - Throws: `ToolError`.
        init(name: PeerName, folder: String?, isLive: Bool = true) throws {
            self.folder = Self.folder(name: name, folder)
            do {
                try FileManager.default.createDirectory(
                    at: self.folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            } catch {
                throw Self.cannotMake(self.folder)
            }
            let access = FileAccess(path: self.folder.path)
            if let problem = access?.problem(withFolder: self.folder.path, isShared: false) { throw ToolError(problem) }
            guard isLive else {
                lock = -1
                return
            }
            lock = open(self.folder.appending(path: "lock").path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
            guard lock >= 0 else {
                throw ToolError("cannot write to \(self.folder.path): \(String(cString: strerror(errno)))")
            }
            if let problem = FileAccess(descriptor: lock)?.problem(withFile: self.folder.appending(path: "lock").path) {
                close(lock)
                throw ToolError(problem)
            }
            guard flock(lock, LOCK_EX | LOCK_NB) == 0 else {
                close(lock)
                throw ToolError(
                    "another mesh uses \(self.folder.path): quit it first, or give this one its own --name or --home")
            }
        }

        /// Returns an error that says why a folder can't be created, by what exists in its place.
        private static func cannotMake(_ folder: URL) -> ToolError {
            var isFolder: ObjCBool = false
            var place = folder.standardizedFileURL
            while !FileManager.default.fileExists(atPath: place.path, isDirectory: &isFolder), place.path.count > 1 {
                place.deleteLastPathComponent()
            }
            let reason =
                if !isFolder.boolValue {
                    "'\(place.path)' is a file"
                } else if FileManager.default.isWritableFile(atPath: place.path) {
                    "the system refuses it"
                } else {
                    "you may not write in '\(place.path)'"
                }
            return ToolError("cannot make the folder '\(folder.path)': \(reason); name another with --home")
        }

        deinit { if lock >= 0 { close(lock) } }

        static func folder(name: PeerName, _ folder: String?) -> URL {
            if let folder { return URL(fileURLWithPath: folder, isDirectory: true) }
            let configured = ProcessInfo.processInfo.environment["XDG_CONFIG_HOME"].flatMap { $0.isEmpty ? nil : $0 }
            let base =
                configured.map { URL(fileURLWithPath: $0, isDirectory: true) }
                ?? FileManager.default.homeDirectoryForCurrentUser.appending(path: ".config")
            return base.appending(path: "sessionmesh").appending(path: name.value)
        }

        /// Opens the store of the workout. Returns nil if the tool was built without a store.
        /// - Throws: `ToolError`.
        func openStore() throws -> (any SessionStore)? {
            #if SQLite
                do {
                    return try SQLiteStore(path: folder.appending(path: "workout.db").path)
                } catch {
                    throw ToolError("cannot open the store in \(folder.path): \(error)")
                }
            #else
                return nil
            #endif
        }
    }
#endif
