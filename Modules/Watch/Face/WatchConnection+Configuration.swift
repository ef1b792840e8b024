public import Foundation
public import MeshIdentity
public import MeshStorage
public import MeshTransport

#if SQLite
    import MeshSQLiteStorage
#endif

extension WatchConnection {
    /// What differs from one app to another, and in tests.
    public struct Configuration: Sendable {
        /// Who this is; nil makes one whose id is kept in the user defaults.
        public var localPeer: SessionPeer?
        /// Keeps what must outlive the process: requests and their replies, shared states, which files are on their way.
        public var store: Store
        /// The connection's own, for the file of its store, and for files that have come and wait for the app; nil is
        /// `SessionMesh` in Application Support. Made if there is none.
        public var folder: URL?
        /// What timeouts and retries go by; tests make time up.
        public var clock: any DeliveryClock

        /// The defaults of an app.
        public init(
            localPeer: SessionPeer? = nil, store: Store = .default, folder: URL? = nil,
            clock: any DeliveryClock = SystemClock()
        ) {
            self.localPeer = localPeer
            self.store = store
            self.folder = folder
            self.clock = clock
        }
    }
}

extension WatchConnection.Configuration {
    /// Where that is kept which must outlive the process.
    public enum Store: Sendable {
        /// In memory: it does not.
        case memory
        #if SQLite
            /// With the package's trait `SQLite`: in `Connection.sqlite` in the connection's folder, which is left out of
            /// backups, since a store that is restored is an older one. One connection has it at a time. It is for a
            /// `WCSession`: in place of any other, such as those of tests and previews, nothing is written.
            case file
        #endif
        /// In one that the app has opened, for this connection alone, and closes.
        case custom(any SessionStore)

        /// In the file with the package's trait `SQLite`, and without it in memory.
        public static var `default`: Store {
            #if SQLite
                .file
            #else
                .memory
            #endif
        }
    }
}

extension WatchConnection.Configuration.Store {
    /// Whether the connection has opened it.
    var isOwn: Bool { if case .custom = self { false } else { true } }

    /// nil is memory.
    /// - Parameter folder: nil when no file may be made.
    /// - Throws: `StorageError`, or why the folder cannot be made.
    func open(in folder: URL?) throws -> (any SessionStore)? {
        switch self {
        case .memory: return nil
        case .custom(let store): return store
        #if SQLite
            case .file:
                guard var folder else { return nil }
                try FileManager.default.createDirectory(
                    at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
                var values = URLResourceValues()
                values.isExcludedFromBackup = true
                try? folder.setResourceValues(values)
                return try SQLiteStore(path: folder.appendingPathComponent("Connection.sqlite").path)
        #endif
        }
    }
}
