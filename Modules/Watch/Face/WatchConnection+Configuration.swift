public import Foundation
public import MeshIdentity
public import MeshStorage
public import MeshTransport

#if SQLite
    import MeshSQLiteStorage
#endif

extension WatchConnection {
    /// Options for a connection. The defaults suit most apps.
    public struct Configuration: Sendable {
        /// The peer that represents this device. nil creates one and keeps its ID in the user defaults.
        public var localPeer: SessionPeer?
        /// The storage for data that must outlive the process: requests and replies, shared states and file transfers.
        public var store: Store
        /// The folder for the connection's store and for received files that the app hasn't taken yet. nil means
        /// `SessionMesh` in Application Support. Created if missing.
        public var folder: URL?
        /// The clock for timeouts and retries. Tests pass a virtual one.
        public var clock: any DeliveryClock

        /// Creates a configuration with the defaults of an app.
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
    /// The storage for data that must outlive the process.
    public enum Store: Sendable {
        /// Keeps the data in memory until the process ends.
        case memory
        #if SQLite
            /// Keeps the data in `Connection.sqlite` in the connection's folder, excluded from backups because a
            /// restored store would be outdated. Needs the trait `SQLite`. Only one connection can use the file at a
            /// time. With a session other than a `WCSession`, as in tests and previews, nothing is written.
            case file
        #endif
        /// Keeps the data in a store that the app opened for this connection alone. The app closes it.
        case custom(any SessionStore)

        /// `file` with the package's trait `SQLite`, otherwise `memory`.
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
    /// True if the connection opens and closes the store.
    var isOwn: Bool { if case .custom = self { false } else { true } }

    /// Opens the store; nil means memory.
    /// - Parameter folder: nil if no file may be created.
    /// - Throws: `StorageError`, or the file system's error if the folder can't be created.
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
