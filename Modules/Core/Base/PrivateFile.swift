#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// A small file that only this user can read and write, and that is always complete or absent. Other users must not be
/// able to write to its folder, unless the folder is sticky, like /tmp.
///
/// Calls block while the disk works. They throw errors of the caller's own type.
package struct PrivateFile<Failure: PrivateFileFailure>: Sendable {
    package let path: String

    /// - Throws: `noName` if the path can't name a file.
    package init(_ path: String) throws(Failure) {
        guard !path.isEmpty, !path.utf8.contains(0), path.utf8.last != UInt8(ascii: "/") else {
            throw Failure(.noName, "'\(path)' is not a path of a file")
        }
        self.path = path
    }

    /// Reads the complete file.
    /// - Returns: nil if there is no file.
    /// - Throws: `notPrivate`; `oversized` if the file has more than `bytesMax` bytes; `missing`, `refused`.
    package func read(bytesMax: Int) throws(Failure) -> [UInt8]? {
        try checkFolder()
        // With O_NONBLOCK, a pipe that another user created here can't block the call.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else {
            if errno == ENOENT, folderExists { return nil }
            throw failure("open", errno)
        }
        defer { close(descriptor) }
        try check(descriptor)
        var bytes = [UInt8](repeating: 0, count: bytesMax + 1)
        var count = 0
        while count < bytes.count {
            let read = bytes.withUnsafeMutableBytes { systemRead(descriptor, $0, from: count) }
            if read < 0, errno == EINTR { continue }
            guard read >= 0 else { throw failure("read", errno) }
            guard read > 0 else { return Array(bytes[..<count]) }
            count += read
        }
        throw Failure(.oversized, "'\(path)' has more than \(bytesMax) bytes; move or delete it")
    }

    /// Creates the file if it doesn't exist.
    /// - Returns: false if the file already exists, perhaps because another process has just created it. That file is
    ///   unchanged.
    /// - Throws: `notPrivate`, `missing`, `refused`.
    package func create(_ bytes: [UInt8]) throws(Failure) -> Bool {
        let draft = try write(bytes)
        defer { unlink(draft) }
        if link(draft, path) == 0 {
            syncFolder()
            return true
        }
        if errno == EEXIST { return false }
        // Without hard links (some file systems, apps on Android), a lock excludes other callers of `create`.
        return try withLock { () throws(Failure) in
            if access(path, F_OK) == 0 { return false }
            guard rename(draft, path) == 0 else { throw failure("rename", errno) }
            syncFolder()
            return true
        }
    }

    /// Replaces the content of the file, or creates it.
    /// - Throws: `notPrivate`, `missing`, `refused`. Then the file is unchanged.
    package func replace(_ bytes: [UInt8]) throws(Failure) {
        let draft = try write(bytes)
        guard rename(draft, path) == 0 else {
            let number = errno
            unlink(draft)
            throw failure("rename", number)
        }
        syncFolder()
    }

    /// Removes the file. A file that doesn't exist isn't an error.
    /// - Throws: `notPrivate`, `missing`, `refused`.
    package func remove() throws(Failure) {
        try checkFolder()
        guard unlink(path) == 0 || (errno == ENOENT && folderExists) else { throw failure("remove", errno) }
        syncFolder()
    }

    /// Runs `body` under an exclusive lock for this path, across processes and across file objects of this process.
    /// - Throws: `notPrivate`, `missing`, `refused`, or the errors of `body`.
    package func withLock<Result>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        try checkFolder()
        let lock = path + ".lock"
        let descriptor = open(lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
        guard descriptor >= 0 else { throw failure("open the lock of", errno) }
        defer { close(descriptor) }
        // Another user might never release the lock.
        if let access = FileAccess(descriptor: descriptor), access.owner != FileAccess.thisUser {
            throw Failure(
                .notPrivate, "'\(lock)' belongs to user \(access.owner): use a file in a folder that you own")
        }
        while flock(descriptor, LOCK_EX) != 0 {
            guard errno == EINTR else { throw failure("lock", errno) }
        }
        return try body()
    }
}

/// The reason why a private file can't be used.
package enum PrivateFileProblem: Sendable {
    /// The path can't name a file.
    case noName
    /// Other users can read or change the file, or it isn't a regular file.
    case notPrivate
    case oversized
    /// The folder doesn't exist.
    case missing
    /// The system refused the operation; the error number tells why.
    case refused
}

/// The error type of a module that uses private files.
package protocol PrivateFileFailure: Error {
    /// - Parameters:
    ///   - message: Text that says what happened and what to do.
    ///   - errorNumber: The system's error number, or 0.
    init(_ problem: PrivateFileProblem, _ message: String, errorNumber: Int32)
}

extension PrivateFileFailure {
    fileprivate init(_ problem: PrivateFileProblem, _ message: String) { self.init(problem, message, errorNumber: 0) }
}

extension PrivateFile {
    /// Writes and syncs a draft next to this file, and returns its path.
    private func write(_ bytes: [UInt8]) throws(Failure) -> String {
        try checkFolder()
        let draft = path + ".new-" + String(UInt64.random(in: 0 ... .max), radix: 36)
        let descriptor = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw failure("create a file next to", errno) }
        defer { close(descriptor) }
        do throws(Failure) {
            // The umask may have removed permissions. This user must always be able to read the file.
            guard fchmod(descriptor, 0o600) == 0 else { throw failure("chmod", errno) }
            var written = 0
            while written < bytes.count {
                let count = bytes.withUnsafeBytes { systemWrite(descriptor, $0, from: written) }
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { throw failure("write", errno) }
                written += count
            }
            guard fsync(descriptor) == 0 else { throw failure("sync", errno) }
        } catch {
            unlink(draft)
            throw error
        }
        return draft
    }

    private func check(_ descriptor: Int32) throws(Failure) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw failure("inspect", errno) }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw Failure(.notPrivate, "'\(path)' is not a regular file; use another path")
        }
        guard status.st_uid == geteuid() else {
            throw Failure(.notPrivate, "'\(path)' belongs to another user; use a file that you own")
        }
        guard status.st_mode & 0o077 == 0 else {
            throw Failure(
                .notPrivate,
                "other users can read or write '\(path)': create a new file, or run chmod 600 if nobody has used it"
            )
        }
    }

    private func checkFolder() throws(Failure) {
        guard let problem = FileAccess(path: folder)?.problem(withFolder: folder, isShared: true) else { return }
        throw Failure(.notPrivate, problem)
    }

    /// Syncs the folder, so that a rename survives a power loss on most systems. The file is complete in any case.
    private func syncFolder() {
        let descriptor = open(folder, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        fsync(descriptor)
        close(descriptor)
    }

    private var folder: String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    private var folderExists: Bool { access(folder, F_OK) == 0 }

    private func failure(_ verb: String, _ number: Int32) -> Failure {
        switch number {
        case ENOENT, ENOTDIR:
            Failure(.missing, "the folder of '\(path)' does not exist; create it first", errorNumber: number)
        case ELOOP:
            Failure(.notPrivate, "'\(path)' is a symbolic link; use the path of the file itself", errorNumber: number)
        default:
            Failure(
                .refused, "cannot \(verb) '\(path)': \(String(cString: strerror(number)))",
                errorNumber: number)
        }
    }
}

private func systemRead(_ descriptor: Int32, _ bytes: UnsafeMutableRawBufferPointer, from offset: Int) -> Int {
    guard let base = bytes.baseAddress else { return 0 }
    return read(descriptor, base + offset, bytes.count - offset)
}

private func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer, from offset: Int) -> Int {
    guard let base = bytes.baseAddress else { return 0 }
    return write(descriptor, base + offset, bytes.count - offset)
}
