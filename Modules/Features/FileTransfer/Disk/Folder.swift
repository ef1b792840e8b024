import Foundation
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

/// An open folder. Every operation takes a single name, follows no symbolic links, and stays in this folder even if its
/// path changes. Only this user may read the files and folders that it creates.
final class Folder: Sendable {
    let path: String
    private let descriptor: Int32
    private let system: SystemFiles

    /// Opens a folder that the app has chosen. It may be a symbolic link.
    convenience init(path: String, system: SystemFiles) throws(ConnectionError) {
        let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw ConnectionError(systemError: errno, path: path) }
        self.init(descriptor, path: path, system: system)
    }

    private init(_ descriptor: Int32, path: String, system: SystemFiles) {
        self.descriptor = descriptor
        self.path = path
        self.system = system
    }

    deinit { close(descriptor) }

    func path(of name: String) -> String { "\(path)/\(name)" }

    var freeBytes: UInt64? { system.freeBytes(path) }

    /// - Throws: `fileNotFound`; `fileAccessDenied`, also for a symbolic link.
    func folder(_ name: String) throws(ConnectionError) -> Folder {
        let found = openat(descriptor, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)
        guard found >= 0 else {
            let number = errno
            throw isLink(name)
                ? .fileAccessDenied(url: path(of: name)) : ConnectionError(systemError: number, path: path(of: name))
        }
        return Folder(found, path: path(of: name), system: system)
    }

    /// Opens a subfolder, creating it if needed.
    func makeFolder(_ name: String) throws(ConnectionError) -> Folder {
        guard mkdirat(descriptor, name, 0o700) == 0 || errno == EEXIST else {
            throw ConnectionError(systemError: errno, path: path(of: name))
        }
        return try folder(name)
    }

    /// - Parameter flags: added to the flags that refuse symbolic links.
    func openFile(_ name: String, _ flags: Int32) throws(ConnectionError) -> OpenFile {
        let found = openat(descriptor, name, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
        guard found >= 0 else { throw ConnectionError(systemError: errno, path: path(of: name)) }
        return try OpenFile(found, path: path(of: name), system: system)
    }

    func contains(_ name: String) -> Bool { status(name) != nil }

    /// Replaces a file's contents atomically.
    func write(_ bytes: [UInt8], to name: String) throws(ConnectionError) {
        let draft = "\(name).new"
        remove(draft)
        do throws(ConnectionError) {
            let file = try openFile(draft, O_WRONLY | O_CREAT | O_EXCL)
            var failure: ConnectionError?
            bytes.withUnsafeBytes { bytes in
                do throws(ConnectionError) { try file.append(bytes) } catch { failure = error }
            }
            if let failure { throw failure }
            try file.synchronize()
            try move(draft, to: self, as: name)
        } catch {
            remove(draft)
            throw error
        }
    }

    /// - Throws: `fileNotFound`; `payloadTooLarge`.
    func read(_ name: String, bytesMax: Int) throws(ConnectionError) -> [UInt8] {
        let file = try openFile(name, O_RDONLY)
        let bytes = try file.bytes(at: 0, count: bytesMax + 1)
        guard bytes.count <= bytesMax else {
            throw .payloadTooLarge(bytes: bytes.count, limit: bytesMax, limitID: "file.note")
        }
        return bytes
    }

    /// Moves a file, replacing one that has the new name.
    func move(_ name: String, to other: Folder, as newName: String) throws(ConnectionError) {
        guard renameat(descriptor, name, other.descriptor, newName) == 0 else {
            throw ConnectionError(systemError: errno, path: path(of: name))
        }
    }

    /// Moves a file into this folder from anywhere on the same disk.
    /// - Returns: false if the file is on another disk.
    func take(_ path: String, as name: String) throws(ConnectionError) -> Bool {
        if renameat(AT_FDCWD, path, descriptor, name) == 0 { return true }
        guard errno == EXDEV else { throw ConnectionError(systemError: errno, path: path) }
        return false
    }

    /// Removes a file, if it exists.
    func remove(_ name: String) { unlinkat(descriptor, name, 0) }
    func removeFolder(_ name: String) { unlinkat(descriptor, name, Int32(AT_REMOVEDIR)) }

    /// Returns up to `max` names, in ascending order.
    func names(max: Int) -> [String] {
        let copy = openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard copy >= 0 else { return [] }
        guard let stream = fdopendir(copy) else {
            close(copy)
            return []
        }
        defer { closedir(stream) }
        var names: [String] = []
        while names.count < max, let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names.sorted()
    }

    /// Returns the modification date of the first of these files that exists.
    func modified(_ names: [String]) -> Date? {
        names.lazy.compactMap(status).first.map { status in
            #if canImport(Darwin)
                Date(timeIntervalSince1970: TimeInterval(status.st_mtimespec.tv_sec))
            #else
                Date(timeIntervalSince1970: TimeInterval(status.st_mtim.tv_sec))
            #endif
        }
    }

    private func isLink(_ name: String) -> Bool { status(name).map { $0.st_mode & S_IFMT == S_IFLNK } ?? false }

    private func status(_ name: String) -> stat? {
        var status = stat()
        return fstatat(descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0 ? status : nil
    }
}
