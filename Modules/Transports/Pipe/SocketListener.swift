import MeshBase

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

// A socket's file outlives the process that made it, and two processes that both find it stale could each remove the
// other's. So the listener holds an advisory lock (`flock`) on the file `path.lock`, which the system releases however
// a process ends. The lock's holder may replace the socket's file. Only the lock's holder removes the lock file, in an
// orderly end. A process that opened the file earlier then locks a file that is no longer at the path. It notices this
// (`isCurrent`) and starts over.

/// A Unix socket that this process listens at, and the lock that makes it the only listener.
final class SocketListener: Sendable {
    let descriptor: Int32
    private let path: UnixSocketPath
    private let lockFile: Int32

    /// - Throws: `PipeError` with `addressInUse`, `otherUser`, `notPrivate`, `invalidPath` if another kind of file is
    ///   at the path, or `systemCallFailed`.
    init(_ path: UnixSocketPath) throws(PipeError) {
        try path.checkFolder()
        let lockFile = try Self.lock(path)
        do throws(PipeError) {
            try Self.removeStale(path)
            descriptor = try path.listen(backlog: Int32(PipeLink.connectionsMax))
        } catch {
            Self.release(lockFile, of: path)
            throw error
        }
        self.path = path
        self.lockFile = lockFile
    }

    /// Removes the socket's file, and lets another process listen.
    deinit {
        unlink(path.value)
        close(descriptor)
        Self.release(lockFile, of: path)
    }

    private static func lockPath(_ path: UnixSocketPath) -> String { path.value + ".lock" }

    private static func lock(_ path: UnixSocketPath) throws(PipeError) -> Int32 {
        while true {
            let lockFile = open(lockPath(path), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
            let number = errno
            let access = lockFile >= 0 ? FileAccess(descriptor: lockFile) : FileAccess(linkAt: lockPath(path))
            if let access, access.owner != FileAccess.thisUser {
                if lockFile >= 0 { close(lockFile) }
                throw .otherUser(access.owner, at: lockPath(path))
            }
            guard lockFile >= 0 else { throw .systemCallFailed("open \(lockPath(path))", number) }
            guard flock(lockFile, LOCK_EX | LOCK_NB) == 0 else {
                defer { close(lockFile) }
                guard errno == EWOULDBLOCK else { throw .systemCallFailed("flock \(lockPath(path))", errno) }
                throw .addressInUse(path)
            }
            if isCurrent(lockFile, of: path) { return lockFile }
            close(lockFile)
        }
    }

    /// Returns true if the locked file is still the one at the path.
    private static func isCurrent(_ lockFile: Int32, of path: UnixSocketPath) -> Bool {
        var (mine, found) = (stat(), stat())
        guard fstat(lockFile, &mine) == 0, lstat(lockPath(path), &found) == 0 else { return false }
        return mine.st_ino == found.st_ino && mine.st_dev == found.st_dev
    }

    private static func release(_ lockFile: Int32, of path: UnixSocketPath) {
        unlink(lockPath(path))
        close(lockFile)
    }

    /// Removes a stale socket file. Called with the lock held: the file belongs to a process that has ended, or to one
    /// without the lock.
    private static func removeStale(_ path: UnixSocketPath) throws(PipeError) {
        var status = stat()
        guard lstat(path.value, &status) == 0 else { return }
        guard status.st_mode & S_IFMT == S_IFSOCK else {
            throw PipeError(
                code: .invalidPath, message: "\(path.value) isn't a socket", errorNumber: 0)
        }
        try path.checkOwner()
        do throws(PipeError) {
            close(try path.connect())
        } catch {
            switch error.errorNumber {
            // No process listens.
            case ECONNREFUSED: unlink(path.value)
            // Another process has just removed the file.
            case ENOENT: break
            // A process listens, and its connection queue is full.
            case EAGAIN: throw .addressInUse(path)
            // Another error, such as too many open files, doesn't show that no process listens.
            default: throw error
            }
            return
        }
        throw .addressInUse(path)
    }
}

extension PipeError {
    fileprivate static func addressInUse(_ path: UnixSocketPath) -> PipeError {
        PipeError(code: .addressInUse, message: "another process listens at \(path.value)", errorNumber: 0)
    }
}
