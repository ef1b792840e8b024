import MeshBus

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// A small file of this user's alone (mode 0600), replaced as a whole: whatever happens, it holds the session before or the
/// one after. Its folder must exist, and others may not write to it unless it is one like /tmp.
///
/// Each call has a thread of its own while it blocks. One process at a time: of two, the last to write wins.
public struct FileResumeStore: ResumeStore {
    public let path: String

    /// - Throws: `ResumeError.Code.unavailable` for a path that names no file.
    public init(path: String) throws {
        guard !path.isEmpty, !path.utf8.contains(0), path.utf8.last != UInt8(ascii: "/") else {
            throw ResumeError(.unavailable, "a file needs a name, not '\(path)'")
        }
        self.path = path
    }

    /// - Throws: `damaged`, `foreign`, `unavailable`.
    public func load() async throws -> SessionSnapshot? {
        try await offPool { try readFile().map(SessionSnapshot.init(stored:)) }
    }

    /// - Throws: `foreign`, `unavailable`; the file is as it was then.
    public func save(_ snapshot: SessionSnapshot?) async throws {
        let bytes = try snapshot?.stored()
        try await offPool { try bytes.map(replace) ?? remove() }
    }
}

extension FileResumeStore {
    private func readFile() throws(ResumeError) -> [UInt8]? {
        try checkFolder()
        // Without O_NONBLOCK somebody's pipe under this name would hold us up.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw failure("open")
        }
        defer { close(descriptor) }
        guard let access = FileAccess(descriptor: descriptor) else { throw failure("look at") }
        guard access.owner == FileAccess.thisUser, access.mode & 0o077 == 0 else {
            throw ResumeError(.foreign, "'\(path)' is not this user's alone: run chmod 600 on it, or use another")
        }
        var bytes = [UInt8](repeating: 0, count: SessionSnapshot.storedBytesMax + 1)
        var count = 0
        while count < bytes.count {
            let size = bytes.withUnsafeMutableBytes { systemRead(descriptor, $0, from: count) }
            if size < 0, errno == EINTR { continue }
            guard size >= 0 else { throw failure("read") }
            guard size > 0 else { break }
            count += size
        }
        return Array(bytes[..<count])
    }

    /// Writes and syncs a file beside it, then puts that in its place and syncs the folder.
    private func replace(_ bytes: [UInt8]) throws(ResumeError) {
        try checkFolder()
        let draft = path + ".new-" + String(UInt64.random(in: 0 ... .max), radix: 36)
        let descriptor = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw failure("make a file beside") }
        do throws(ResumeError) {
            defer { close(descriptor) }
            // A umask takes away from the mode; this user may always read.
            guard fchmod(descriptor, 0o600) == 0 else { throw failure("chmod") }
            var written = 0
            while written < bytes.count {
                let size = bytes.withUnsafeBytes { systemWrite(descriptor, $0, from: written) }
                if size < 0, errno == EINTR { continue }
                guard size > 0 else { throw failure("write") }
                written += size
            }
            guard fsync(descriptor) == 0 else { throw failure("sync") }
        } catch {
            unlink(draft)
            throw error
        }
        guard rename(draft, path) == 0 else {
            let error = failure("rename")
            unlink(draft)
            throw error
        }
        try syncFolder()
    }

    private func remove() throws(ResumeError) {
        try checkFolder()
        guard unlink(path) == 0 || errno == ENOENT else { throw failure("remove") }
        try syncFolder()
    }

    private func syncFolder() throws(ResumeError) {
        let descriptor = open(folder, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure("open the folder of") }
        defer { close(descriptor) }
        // Some file systems sync no folders.
        guard fsync(descriptor) == 0 || errno == EINVAL else { throw failure("sync the folder of") }
    }

    private func checkFolder() throws(ResumeError) {
        guard let flaw = FileAccess(path: folder)?.flaw(ofFolder: folder, isShared: true) else { return }
        throw ResumeError(.foreign, flaw)
    }

    private var folder: String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    private func failure(_ verb: String) -> ResumeError {
        let number = errno
        return ResumeError(
            .unavailable, "cannot \(verb) '\(path)': \(String(cString: strerror(number)))",
            cause: SystemCallError(verb, number))
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
