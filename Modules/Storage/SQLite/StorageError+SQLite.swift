#if SQLite
    internal import Foundation
    internal import GRDB
    internal import MeshStorage

    /// The stored bytes differ from the ones written.
    struct Damage: Error {
        let detail: String

        init(_ detail: String) { self.detail = detail }
    }

    extension StorageError {
        /// Converts an error of SQLite, or of the checks on top of it.
        init(_ error: any Error, path: String, systemError: Int32 = 0) {
            switch error {
            case let error as StorageError: self = error
            case let damage as Damage: self = .damaged(path, damage.detail)
            case let error as DatabaseError: self.init(error, path: path, systemError: systemError)
            default:
                self.init(.unavailable, "'\(path)' can't be used; open it again, or name another path", cause: error)
            }
        }

        private init(_ error: DatabaseError, path: String, systemError: Int32) {
            switch (error.resultCode, systemError) {
            case (.SQLITE_FULL, _), (.SQLITE_IOERR, ENOSPC), (.SQLITE_IOERR, EDQUOT):
                self.init(
                    .full, "the disk is full at '\(path)'; free some space and commit again. Earlier commits are kept",
                    cause: error
                )
            case (.SQLITE_READONLY, _) where error.extendedResultCode == .SQLITE_READONLY_DBMOVED:
                self.init(.unavailable, "'\(path)' was moved or deleted while it was open; open it again", cause: error)
            case (.SQLITE_READONLY, _), (.SQLITE_CANTOPEN, EACCES), (.SQLITE_CANTOPEN, EPERM),
                (.SQLITE_CANTOPEN, EROFS), (.SQLITE_IOERR, EROFS), (.SQLITE_PERM, _):
                self = .readOnly(path, cause: error)
            case (.SQLITE_BUSY, _), (.SQLITE_LOCKED, _): self = .busy(path, cause: error)
            case (.SQLITE_CORRUPT, _), (.SQLITE_NOTADB, _):
                self = .damaged(path, error.message ?? "SQLite can't read it", cause: error)
            case (.SQLITE_TOOBIG, _):
                self.init(
                    .oversized, "'\(path)': SQLite can't store a row of this size; store less in it", cause: error)
            default:
                self.init(
                    .unavailable,
                    "'\(path)' can't be used: \(error.message ?? "\(error.resultCode)"); open it again, or name another path",
                    cause: error)
            }
        }

        /// - Parameter errno: the error of a system call on the file or its folder.
        init(errno: Int32, path: String) {
            switch errno {
            case EACCES, EPERM, EROFS: self = .readOnly(path, cause: POSIXError(errno))
            case ENOENT, ENOTDIR:
                self.init(.missing, "the folder of '\(path)' doesn't exist; create it first", cause: POSIXError(errno))
            case ENOSPC, EDQUOT:
                self.init(
                    .full, "the disk is full, so '\(path)' can't be created; free some space", cause: POSIXError(errno))
            default:
                self.init(
                    .unavailable, "'\(path)' can't be used: \(String(cString: strerror(errno))); name another path",
                    cause: POSIXError(errno))
            }
        }

        static func readOnly(_ path: String, cause: any Error) -> StorageError {
            StorageError(
                .readOnly, "'\(path)' or its folder isn't writable; change the permissions or name another path",
                cause: cause)
        }

        static func busy(_ path: String, cause: (any Error)? = nil) -> StorageError {
            StorageError(.busy, "'\(path)' is open elsewhere; close it there or name another path", cause: cause)
        }

        static func damaged(_ path: String, _ detail: String, cause: (any Error)? = nil) -> StorageError {
            StorageError(
                .damaged,
                "'\(path)' is damaged: \(detail). Restore it from a copy, or move it away to start with an empty store",
                cause: cause)
        }

        static func outdated(_ path: String, commits: Int64, of all: Int64) -> StorageError {
            StorageError(
                .outdated,
                "'\(path)' has \(commits) of its \(all) commits: its log ('\(path)-wal') was cut or deleted, or an older "
                    + "copy is in its place. Put the newer files back, or delete '\(SQLiteMark.path(of: path))' to go on "
                    + "with what is there")
        }

        static func foreign(_ path: String, _ detail: String) -> StorageError {
            StorageError(.foreign, "'\(path)' is \(detail); move it away or name another path")
        }
    }

    extension POSIXError {
        fileprivate init(_ errno: Int32) { self.init(POSIXErrorCode(rawValue: errno) ?? .EIO) }
    }
#endif
