import MeshConnection

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// System calls that are slow, fill the disk or report its free space. Tests replace them.
///
/// Reads and writes block while the disk works, and return a negative `errno` on failure.
struct SystemFiles: Sendable {
    var read: @Sendable (_ descriptor: Int32, _ buffer: UnsafeMutableRawBufferPointer, _ offset: UInt64) -> Int = {
        descriptor, buffer, offset in
        let count = pread(descriptor, buffer.baseAddress, buffer.count, off_t(clamping: offset))
        return count < 0 ? -Int(errno) : count
    }
    var write: @Sendable (_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int = { descriptor, bytes in
        // A separate function, because `write` here would be the closure's own name.
        let count = writeBytes(descriptor, bytes)
        return count < 0 ? -Int(errno) : count
    }
    /// Returns the bytes that this user may still write on the folder's disk, or nil if the system doesn't know.
    var freeBytes: @Sendable (_ path: String) -> UInt64? = { path in
        var status = statvfs()
        guard statvfs(path, &status) == 0 else { return nil }
        return UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize)).partialValue
    }
}

private func writeBytes(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
    write(descriptor, bytes.baseAddress, bytes.count)
}

/// An open regular file. Closed on deinitialization.
final class OpenFile: Sendable {
    let descriptor: Int32
    let path: String
    private let system: SystemFiles

    /// - Parameter descriptor: owned by the new object.
    /// - Throws: `fileAccessDenied` if it isn't a regular file.
    init(_ descriptor: Int32, path: String, system: SystemFiles) throws(ConnectionError) {
        self.descriptor = descriptor
        self.path = path
        self.system = system
        guard status().map({ $0.st_mode & S_IFMT == S_IFREG }) == true else {
            throw .fileAccessDenied(url: path)
        }
    }

    /// Opens one of the app's files for reading, following symbolic links.
    /// - Throws: `fileNotFound`, `fileAccessDenied`, `sessionError` with the `errno`.
    convenience init(reading path: String, system: SystemFiles) throws(ConnectionError) {
        // Without O_NONBLOCK, opening a pipe would block.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw ConnectionError(systemError: errno, path: path) }
        try self.init(descriptor, path: path, system: system)
    }

    deinit { close(descriptor) }

    func status() -> stat? {
        var status = stat()
        return fstat(descriptor, &status) == 0 ? status : nil
    }

    var byteCount: UInt64 { UInt64(clamping: status()?.st_size ?? 0) }

    /// Reads until the buffer is full or the file ends.
    /// - Returns: the number of bytes read.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(ConnectionError) -> Int {
        var filled = 0
        while filled < buffer.count {
            let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])
            let count = system.read(descriptor, rest, offset + UInt64(filled))
            if count == -Int(EINTR) { continue }
            guard count >= 0 else { throw ConnectionError(systemError: Int32(-count), path: path) }
            guard count > 0 else { break }
            filled += min(count, rest.count)
        }
        return filled
    }

    func bytes(at offset: UInt64, count: Int) throws(ConnectionError) -> [UInt8] {
        var failure: ConnectionError?
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            do throws(ConnectionError) {
                initialized = try read(into: UnsafeMutableRawBufferPointer(buffer), at: offset)
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        return bytes
    }

    /// Appends all the bytes. On an error, some may have been written.
    func append(_ bytes: UnsafeRawBufferPointer) throws(ConnectionError) {
        var written = 0
        while written < bytes.count {
            let count = system.write(descriptor, UnsafeRawBufferPointer(rebasing: bytes[written...]))
            if count == -Int(EINTR) { continue }
            guard count > 0 else {
                throw ConnectionError(systemError: count < 0 ? Int32(-count) : ENOSPC, path: path)
            }
            written += count
        }
    }

    /// Returns once the bytes are on disk.
    func synchronize() throws(ConnectionError) {
        guard fsync(descriptor) == 0 else { throw ConnectionError(systemError: errno, path: path) }
    }
}

extension ConnectionError {
    /// Maps the `errno` of a call on that path.
    init(systemError number: Int32, path: String) {
        switch number {
        case ENOENT, ENOTDIR: self = .fileNotFound(url: path)
        case EACCES, EPERM, EROFS, ELOOP: self = .fileAccessDenied(url: path)
        case ENOSPC, EDQUOT, EFBIG: self = .insufficientSpace
        default: self = .sessionError(code: Int(number), description: "\(String(cString: strerror(number))): \(path)")
        }
    }
}
