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

/// A folder, held open: what is done in it goes by single names, follows no links, and stays in it whatever becomes of its
/// path. Only this user may look into what it makes.
final class Folder: Sendable {
    let path: String
    private let descriptor: Int32
    private let system: SystemFiles

    /// Opens a folder that the app has chosen, which may be a link.
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

    /// - Throws: `fileNotFound`; `fileAccessDenied`, also when it is a link.
    func folder(_ name: String) throws(ConnectionError) -> Folder {
        let found = openat(descriptor, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)
        guard found >= 0 else {
            let number = errno
            throw isLink(name)
                ? .fileAccessDenied(url: path(of: name)) : ConnectionError(systemError: number, path: path(of: name))
        }
        return Folder(found, path: path(of: name), system: system)
    }

    /// Makes it if there is none.
    func makeFolder(_ name: String) throws(ConnectionError) -> Folder {
        guard mkdirat(descriptor, name, 0o700) == 0 || errno == EEXIST else {
            throw ConnectionError(systemError: errno, path: path(of: name))
        }
        return try folder(name)
    }

    /// - Parameter flags: beside those that keep links out.
    func openFile(_ name: String, _ flags: Int32) throws(ConnectionError) -> OpenFile {
        let found = openat(descriptor, name, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
        guard found >= 0 else { throw ConnectionError(systemError: errno, path: path(of: name)) }
        return try OpenFile(found, path: path(of: name), system: system)
    }

    func contains(_ name: String) -> Bool { status(name) != nil }

    /// Puts these bytes in the place of what is there, whole or not at all.
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

    /// In the place of what is there.
    func move(_ name: String, to other: Folder, as newName: String) throws(ConnectionError) {
        guard renameat(descriptor, name, other.descriptor, newName) == 0 else {
            throw ConnectionError(systemError: errno, path: path(of: name))
        }
    }

    /// Takes a file in from anywhere on the same disk.
    /// - Returns: false when it is on another one.
    func take(_ path: String, as name: String) throws(ConnectionError) -> Bool {
        if renameat(AT_FDCWD, path, descriptor, name) == 0 { return true }
        guard errno == EXDEV else { throw ConnectionError(systemError: errno, path: path) }
        return false
    }

    /// What is not there needs no removing.
    func remove(_ name: String) { unlinkat(descriptor, name, 0) }
    func removeFolder(_ name: String) { unlinkat(descriptor, name, Int32(AT_REMOVEDIR)) }

    /// The names in it, at most so many, in ascending order.
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

    /// When the first of these that is there was written.
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
