#if SQLite
    internal import Foundation
    internal import MeshIdentity

    /// The number of a store's commits, in a file next to the store and its log (`…-mark`).
    ///
    /// If a log is cut or deleted, the store is older but still consistent. The mark, outside the log, reveals that. It
    /// is written only after a commit that survives a loss of power. So a crash or a loss of power never leaves a store
    /// older than its mark. Readers ignore a mark that is missing, partly written or of another store.
    ///
    /// Bytes: "MeshMark", then in little-endian order the store's identity, the number, and a checksum of all bytes
    /// before.
    final class SQLiteMark {
        private let descriptor: Int32

        private static let magic = Array("MeshMark".utf8)
        private static let byteCount = 32

        static func path(of store: String) -> String { store + "-mark" }

        /// Returns nil if the file can be neither opened nor created. The store then has no mark.
        init?(of store: String) {
            descriptor = open(Self.path(of: store), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
            guard descriptor >= 0 else { return nil }
        }

        deinit { close(descriptor) }

        func write(identity: Int64, commits: Int64) {
            let bytes = Self.bytes(identity, commits)
            _ = bytes.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, 0) }
        }

        /// A store's identity, and the minimum number of commits that it has had.
        struct Count: Equatable {
            let identity: Int64
            let commits: Int64
        }

        /// Returns the content of a store's mark; nil if it is missing or damaged.
        static func count(of store: String) -> Count? {
            let descriptor = open(path(of: store), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
            guard descriptor >= 0 else { return nil }
            defer { close(descriptor) }
            var bytes = [UInt8](repeating: 0, count: byteCount)
            guard pread(descriptor, &bytes, byteCount, 0) == byteCount else { return nil }
            let count = Count(identity: word(bytes[8..<16]), commits: word(bytes[16..<24]))
            return bytes == Self.bytes(count.identity, count.commits) ? count : nil
        }

        private static func bytes(_ identity: Int64, _ commits: Int64) -> [UInt8] {
            let content = magic + bytes(identity) + bytes(commits)
            return content + bytes(Int64(bitPattern: StableHash(content).low))
        }

        private static func bytes(_ word: Int64) -> [UInt8] { withUnsafeBytes(of: word.littleEndian) { Array($0) } }

        private static func word(_ bytes: ArraySlice<UInt8>) -> Int64 {
            Int64(bitPattern: bytes.reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
        }
    }
#endif
