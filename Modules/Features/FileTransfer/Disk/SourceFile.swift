import Foundation
import MeshConnection

/// A file that is being sent. It must not change before the transfer ends.
struct SourceFile: Sendable {
    /// Attributes that change when the file does.
    struct Identity: Codable, Hashable, Sendable {
        let byteCount: UInt64
        let modifiedNanoseconds: Int64
        let inode: UInt64
    }

    let file: OpenFile
    let identity: Identity

    /// - Throws: `fileNotFound`, `fileAccessDenied`, `sessionError`.
    init(path: String, system: SystemFiles) throws(ConnectionError) {
        file = try OpenFile(reading: path, system: system)
        guard let identity = file.identity else { throw .fileAccessDenied(url: path) }
        self.identity = identity
    }

    /// - Throws: `deliveryFailed` if the file has changed.
    func check(_ identity: Identity) throws(ConnectionError) {
        guard file.identity == identity else { throw Self.changed(file.path) }
    }

    static func changed(_ path: String) -> ConnectionError {
        .deliveryFailed(reason: "the file has changed since its transfer began: \(path)")
    }
}

extension OpenFile {
    fileprivate var identity: SourceFile.Identity? {
        status().map { status in
            #if canImport(Darwin)
                let time = status.st_mtimespec
            #else
                let time = status.st_mtim
            #endif
            return SourceFile.Identity(
                byteCount: UInt64(clamping: status.st_size),
                modifiedNanoseconds: Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec),
                inode: UInt64(truncatingIfNeeded: status.st_ino))
        }
    }
}
