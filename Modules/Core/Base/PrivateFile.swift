#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// A small file that only this user may read and write, and that is there whole or not at all. Its folder may not be
/// writable by others, unless it is one like /tmp.
///
/// Calls block for as long as the disk takes.
///
/// What goes wrong is thrown as the caller's own error.
package struct PrivateFile<Failure: PrivateFileFailure>: Sendable {
    package let path: String

    /// - Throws: `noName`.
    package init(_ path: String) throws(Failure) {
        guard !path.isEmpty, !path.utf8.contains(0), path.utf8.last != UInt8(ascii: "/") else {
            throw Failure(.noName, "a file needs a name, not '\(path)'")
        }
        self.path = path
    }

    /// - Returns: nil when there is no file.
    /// - Throws: `notPrivate`; `oversized` when it has more than that many bytes; `missing`, `refused`.
    package func read(bytesMax: Int) throws(Failure) -> [UInt8]? {
        try checkFolder()
        // Without O_NONBLOCK somebody's pipe under this name would hold us up.
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
        throw Failure(.oversized, "'\(path)' has more than \(bytesMax) bytes; move it away")
    }

    /// Makes the file if there is none.
    /// - Returns: whether it was made; a file that somebody else has made in the meantime stays.
    /// - Throws: `notPrivate`, `missing`, `refused`.
    package func create(_ bytes: [UInt8]) throws(Failure) -> Bool {
        let draft = try write(bytes)
        defer { unlink(draft) }
        if link(draft, path) == 0 {
            syncFolder()
            return true
        }
        if errno == EEXIST { return false }
        // Without hard links (some file systems; apps on Android) the lock keeps away whoever does the same.
        return try withLock { () throws(Failure) in
            if access(path, F_OK) == 0 { return false }
            guard rename(draft, path) == 0 else { throw failure("rename", errno) }
            syncFolder()
            return true
        }
    }

    /// Puts the bytes in the place of what is there.
    /// - Throws: `notPrivate`, `missing`, `refused`; the file is as it was then.
    package func replace(_ bytes: [UInt8]) throws(Failure) {
        let draft = try write(bytes)
        guard rename(draft, path) == 0 else {
            let number = errno
            unlink(draft)
            throw failure("rename", number)
        }
        syncFolder()
    }

    /// - Throws: `notPrivate`, `missing`, `refused`. That there is none is no error.
    package func remove() throws(Failure) {
        try checkFolder()
        guard unlink(path) == 0 || (errno == ENOENT && folderExists) else { throw failure("remove", errno) }
        syncFolder()
    }

    /// Runs `body` while no other process, and no other file object of this one, is in here for the same path.
    /// - Throws: `notPrivate`, `missing`, `refused`, or what `body` throws.
    package func withLock<Result>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        try checkFolder()
        let lock = path + ".lock"
        let descriptor = open(lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
        guard descriptor >= 0 else { throw failure("open the lock of", errno) }
        defer { close(descriptor) }
        // Another user's lock might never be let go.
        if let access = FileAccess(descriptor: descriptor), access.owner != FileAccess.thisUser {
            throw Failure(
                .notPrivate, "'\(lock)' belongs to user \(access.owner): use a file in a folder of your own")
        }
        while flock(descriptor, LOCK_EX) != 0 {
            guard errno == EINTR else { throw failure("lock", errno) }
        }
        return try body()
    }
}

/// Why a private file is of no use.
package enum PrivateFileFlaw: Sendable {
    /// No file can have such a name.
    case noName
    /// Others may read or change it, or it is no file.
    case notPrivate
    case oversized
    /// The folder does not exist.
    case missing
    /// The system refused; the error number says why.
    case refused
}

/// An error of the module that keeps the file.
package protocol PrivateFileFailure: Error {
    /// - Parameters:
    ///   - message: says what to do next.
    ///   - errorNumber: what the system said, or 0.
    init(_ flaw: PrivateFileFlaw, _ message: String, errorNumber: Int32)
}

extension PrivateFileFailure {
    fileprivate init(_ flaw: PrivateFileFlaw, _ message: String) { self.init(flaw, message, errorNumber: 0) }
}

extension PrivateFile {
    /// Writes and syncs a file of another name beside this one.
    private func write(_ bytes: [UInt8]) throws(Failure) -> String {
        try checkFolder()
        let draft = path + ".new-" + String(UInt64.random(in: 0 ... .max), radix: 36)
        let descriptor = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw failure("make a file beside", errno) }
        defer { close(descriptor) }
        do throws(Failure) {
            // A umask takes away from the mode; this user may always read.
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
        guard fstat(descriptor, &status) == 0 else { throw failure("look at", errno) }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw Failure(.notPrivate, "'\(path)' is not a file; name another")
        }
        guard status.st_uid == geteuid() else {
            throw Failure(.notPrivate, "'\(path)' belongs to another user; use a file of your own")
        }
        guard status.st_mode & 0o077 == 0 else {
            throw Failure(
                .notPrivate, "others may read or write '\(path)': if nobody has, run chmod 600; else make a new one"
            )
        }
    }

    private func checkFolder() throws(Failure) {
        guard let flaw = FileAccess(path: folder)?.flaw(ofFolder: folder, isShared: true) else { return }
        throw Failure(.notPrivate, flaw)
    }

    /// That a rename outlives a loss of power is not promised everywhere; the file is whole in any case.
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
            Failure(.missing, "the folder of '\(path)' does not exist; make it first", errorNumber: number)
        case ELOOP:
            Failure(.notPrivate, "'\(path)' is a link; name the file itself", errorNumber: number)
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
