public import Foundation
public import MeshIdentity
public import MeshStorage
public import MeshTransport

#if SQLite
    import MeshSQLiteStorage
#endif

extension WatchConnection {
    /// The options that differ between apps, and in tests.
    public struct Configuration: Sendable {
        /// The peer that this device is; nil makes one whose ID is kept in the user defaults.
        public var localPeer: SessionPeer?
        /// Keeps what must outlive the process: requests and their replies, shared states, which files are on their way.
        public var store: Store
        /// The connection's own, for the file of its store, and for files that have come and wait for the app; nil is
        /// `SessionMesh` in Application Support. Made if there is none.
        public var folder: URL?
        /// The clock for timeouts and retries. Tests pass one of virtual time.
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
    /// The place of data that must outlive the process.
    public enum Store: Sendable {
        /// Keeps the data in memory, so that it ends with the process.
        case memory
        #if SQLite
            /// Keeps the data in `Connection.sqlite` in the connection's folder, which is left out of backups, since a
            /// restored store is an older one. Needs the trait `SQLite`. One connection has it at a time. Works with a
            /// `WCSession`: with any other session, such as those of tests and previews, nothing is written.
            case file
        #endif
        /// Keeps the data in a store that the app has opened for this connection alone, and closes.
        case custom(any SessionStore)

        /// The file with the package's trait `SQLite`, and memory without it.
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
