#if SQLite
    internal import Foundation
    internal import MeshBase
    internal import MeshStorage

    /// A database file on the disk. Checked before SQLite opens it, because SQLite recovers, rolls back and cleans up while it
    /// opens a file. A file that isn't a store, or is damaged, must stay as it is.
    struct SQLiteFile {
        /// The absolute path without symbolic links, because SQLite puts the log next to the file that a link leads to.
        let path: String
        var logPath: String { path + "-wal" }

        /// - Throws: `missing` if the folder doesn't exist; `unavailable` for a path with a NUL character.
        init(path: String) throws(StorageError) {
            // The system would read the path up to that character, so it would open another file.
            guard !path.utf8.contains(0) else {
                throw StorageError(.unavailable, "'\(path.printable())' has a NUL character; name another path")
            }
            if let path = Self.resolved(path) {
                self.path = path
                return
            }
            let error = errno
            let name = NSString(string: path).lastPathComponent
            let folder = NSString(string: path).deletingLastPathComponent
            guard error == ENOENT, !name.isEmpty else { throw StorageError(errno: error, path: path) }
            guard let folder = Self.resolved(folder.isEmpty ? "." : folder) else {
                throw StorageError(errno: errno, path: path)
            }
            self.path = NSString(string: folder).appendingPathComponent(name)
        }

        private static func resolved(_ path: String) -> String? {
            guard let resolved = realpath(path, nil) else { return nil }
            defer { free(resolved) }
            return String(cString: resolved)
        }

        var exists: Bool { Self.status(of: path) != nil }

        /// Returns the status of a path; nil if there is no file.
        private static func status(of path: String) -> stat? {
            var status = stat()
            return lstat(path, &status) == 0 ? status : nil
        }
    }

    extension SQLiteFile {
        /// The result of checking a file: it is a store, seems undamaged, and isn't open elsewhere in this process.
        struct Admission {
            let claim: FileClaim
            let schemaVersion: Int
            /// True if there is a log, which may have commits that the file lacks.
            let hasLog: Bool
        }

        /// - Throws: `foreign`, `damaged`, `busy`, `readOnly`, `unavailable`. Only the file's mode may then have changed.
        func admit() throws(StorageError) -> Admission {
            let status = try check()
            // Removes the permissions of other users.
            if status.st_mode & 0o077 != 0 { _ = chmod(path, status.st_mode & 0o700) }
            guard let claim = FileClaim(status) else { throw .busy(path) }
            // Examined before the file, because SQLite deletes the log only after the file is complete.
            let log = Self.status(of: logPath)
            let logSize = log.map { Int64($0.st_size) } ?? 0
            let (bytes, size) = try readHeader()
            let header = try checkedHeader(bytes, size: size)
            let hasFrames = logSize >= 32 + 24 + Int64(header.pageSize)
            guard hasFrames ? size >= Int64(header.pageSize) : size == header.byteCount else {
                throw .damaged(path, "it has \(size) bytes instead of \(header.byteCount)")
            }
            return Admission(claim: claim, schemaVersion: Int(header.schemaVersion), hasLog: log != nil)
        }

        /// Checks that no other user can replace the file or write to it, and that no other program has left a rollback
        /// journal next to it.
        @discardableResult
        func check() throws(StorageError) -> stat {
            guard let status = Self.status(of: path) else { throw StorageError(readErrno: errno, path: path) }
            guard status.st_mode & S_IFMT == S_IFREG else { throw .foreign(path, "not a file") }
            try checkFolder()
            guard let access = FileAccess(linkAt: path) else { throw StorageError(errno: errno, path: path) }
            if let problem = access.problem(withFile: path) { throw StorageError(.foreign, problem) }
            if let journal = Self.status(of: path + "-journal"), journal.st_size > 0 {
                throw .damaged(path, "a rollback journal that no store has written lies next to it")
            }
            return status
        }

        func checkedHeader(_ bytes: [UInt8], size: Int64) throws(StorageError) -> SQLiteHeader {
            guard let header = SQLiteHeader(bytes) else {
                if SQLiteHeader.isBeginning(bytes) { throw .damaged(path, "it has been cut to \(size) bytes") }
                throw .foreign(path, "not a store")
            }
            guard header.applicationID == SQLiteSchema.applicationID else {
                throw .foreign(path, "a database of another program")
            }
            if let damage = header.damage { throw .damaged(path, damage) }
            return header
        }

        private func checkFolder() throws(StorageError) {
            let folder = NSString(string: path).deletingLastPathComponent
            guard let problem = FileAccess(path: folder)?.problem(withFolder: folder, isShared: true) else { return }
            throw StorageError(.foreign, "a store at '\(path)': \(problem)")
        }

        private func readHeader() throws(StorageError) -> ([UInt8], size: Int64) {
            let descriptor = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK)
            guard descriptor >= 0 else { throw StorageError(errno: errno, path: path) }
            defer { close(descriptor) }
            var status = stat()
            var header = [UInt8](repeating: 0, count: SQLiteHeader.byteCount)
            let count = pread(descriptor, &header, header.count, 0)
            guard count >= 0, fstat(descriptor, &status) == 0 else { throw StorageError(errno: errno, path: path) }
            return (Array(header[..<count]), Int64(status.st_size))
        }
    }

    extension SQLiteFile {
        /// Creates the file, if there is none. `fill` writes the complete file under another name. The file is then
        /// synced and put in place. A crash may leave a file with `.new-` in its name, which can be deleted.
        /// - Throws: `readOnly`, `full`, `missing`, `damaged`, or errors of `fill`.
        func create(_ fill: (_ draft: String) throws -> Void) throws {
            try checkFolder()
            if let log = Self.status(of: logPath), log.st_size > 0 {
                throw StorageError.damaged(path, "it is gone, but its log ('\(logPath)') is still there")
            }
            let draft = path + ".new-" + UUID().uuidString
            let descriptor = open(draft, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
            guard descriptor >= 0 else { throw StorageError(errno: errno, path: path) }
            close(descriptor)
            defer { for suffix in ["", "-journal", "-wal"] { unlink(draft + suffix) } }
            try fill(draft)
            try sync(draft)
            guard place(draft) else { throw StorageError(errno: errno, path: path) }
            try sync(NSString(string: path).deletingLastPathComponent)
        }

        /// Puts the draft in place, unless a file has appeared there. Without hard links (some file systems; apps on
        /// Android), a file can appear between the check and the renaming, which then replaces it.
        private func place(_ draft: String) -> Bool {
            if link(draft, path) == 0 || errno == EEXIST { return true }
            return exists || rename(draft, path) == 0
        }

        private func sync(_ path: String) throws(StorageError) {
            let descriptor = open(path, O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else { throw StorageError(errno: errno, path: path) }
            defer { close(descriptor) }
            // Some file systems can't sync folders.
            guard fsync(descriptor) == 0 || errno == EINVAL else { throw StorageError(errno: errno, path: path) }
        }
    }

    /// A claim on a file that this process opens as a store. When a process closes any descriptor of a file, POSIX
    /// drops all its locks on the file. So while a store has a file open, this process must not open and close it
    /// again, not even to examine it.
    final class FileClaim: Sendable {
        private struct FileID: Hashable {
            let device: UInt64
            let inode: UInt64

            init(_ status: stat) {
                (device, inode) = (UInt64(truncatingIfNeeded: status.st_dev), UInt64(status.st_ino))
            }
        }

        /// The claimed files, and the descriptors of readers that stay open until the claim ends.
        private static let claimed = Locked<[FileID: [Int32]]>([:])
        private let file: FileID

        /// Returns nil if the file is already claimed.
        init?(_ status: stat) {
            let file = FileID(status)
            // Before `self.file` is set: a complete object would run `deinit`, which ends the other claim.
            let isFree = Self.claimed.withLock { claimed in
                guard claimed[file] == nil else { return false }
                claimed[file] = []
                return true
            }
            guard isFree else { return nil }
            self.file = file
        }

        deinit {
            let file = file
            Self.claimed.withLock { claimed in
                for descriptor in claimed.removeValue(forKey: file) ?? [] { close(descriptor) }
            }
        }

        /// Opens a file, which may be claimed, for the duration of `body`. Until `body` returns, no claim begins or
        /// ends.
        /// - Throws: `missing`, `unavailable`, and errors of `body`.
        static func read<Result>(_ path: String, _ body: (FileBytes) throws -> Result) throws -> Result {
            try claimed.withLock { claimed in
                var status = stat()
                if lstat(path, &status) == 0, let descriptor = claimed[FileID(status)]?.first {
                    return try body(FileBytes(path, descriptor: descriptor))
                }
                let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
                guard descriptor >= 0, fstat(descriptor, &status) == 0 else {
                    throw StorageError(readErrno: errno, path: path)
                }
                let file = FileID(status)
                defer {
                    if claimed[file]?.append(descriptor) == nil { close(descriptor) }
                }
                return try body(FileBytes(path, descriptor: descriptor))
            }
        }
    }
#endif
