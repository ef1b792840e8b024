#if SQLite
    internal import CSQLite
    internal import Foundation
    internal import GRDB
    internal import MeshStorage

    // Copying a store while another process writes to it.
    //
    // The reader takes no lock, so the writer neither waits nor notices. Instead, the reader proves that its copy shows
    // the store at one moment. It reads the log's header, the file, the log, and the log's header again. If the two
    // headers are equal, the log has only grown, and the writer has moved only pages to the file that are still in the
    // log. So for each page that was copied too early, too late or half-written, the reader takes the one in the log.
    // If the headers differ, it makes the copy again.
    //
    // Without a log, the file is complete. It changes only if a store is opened, written to and closed during the copy.
    // The reader notices that because a log appears, the mark changes, or the file's modification time does.

    /// A store's file in memory, as of one commit.
    final class SQLiteImage {
        private var bytes: UnsafeMutableRawBufferPointer
        /// The mark from before the copy: a healthy copy has at least as many commits.
        let mark: SQLiteMark.Count?

        /// - Returns: nil if the store changed during the copy, so that the copy may mix two moments.
        init?(_ file: FileBytes, bytesMax: Int) throws {
            let (path, logPath) = (file.path, file.path + "-wal")
            mark = SQLiteMark.count(of: path)
            let version = try file.version()
            let log = try FileBytes(path: logPath)
            let logHeader = try SQLiteLog.Header(log)
            bytes = try Self.allocate(Int(clamping: version.byteCount), path, bytesMax)
            guard try file.read(into: bytes, at: 0) == bytes.count else { return nil }
            if let log, let logHeader { try apply(log, logHeader, path, bytesMax) }
            guard try SQLiteLog.Header(FileBytes(path: logPath)) == logHeader else { return nil }
            if logHeader == nil {
                guard try file.version() == version, SQLiteMark.count(of: path) == mark else { return nil }
            }
        }

        deinit { sqlite3_free(bytes.baseAddress) }

        private static func allocate(
            _ count: Int, _ path: String, _ bytesMax: Int, from earlier: UnsafeMutableRawPointer? = nil
        ) throws -> UnsafeMutableRawBufferPointer {
            guard count <= bytesMax else { throw StorageError.oversized(path, bytesMax) }
            guard let memory = sqlite3_realloc64(earlier, UInt64(max(count, 1))) else {
                throw StorageError(.unavailable, "there is no memory for '\(path)'; keep less in this store")
            }
            return UnsafeMutableRawBufferPointer(start: memory, count: count)
        }

        /// Replaces the pages that the log has.
        private func apply(_ file: FileBytes, _ header: SQLiteLog.Header, _ path: String, _ bytesMax: Int) throws {
            guard let pageSize = self.header?.pageSize, pageSize >= 512 else { return }
            let log = try SQLiteLog(header, of: file, pageSize: pageSize, pagesMax: bytesMax / pageSize)
            guard let pageCount = log.pageCount else { return }
            let copied = bytes.count
            bytes = try Self.allocate(pageCount * pageSize, path, bytesMax, from: bytes.baseAddress)
            if bytes.count > copied {
                UnsafeMutableRawBufferPointer(rebasing: bytes[copied...]).initializeMemory(as: UInt8.self, repeating: 0)
            }
            for (page, offset) in log.offsets where page <= pageCount {
                let place = (page - 1) * pageSize
                _ = try file.read(
                    into: UnsafeMutableRawBufferPointer(rebasing: bytes[place..<place + pageSize]), at: offset)
            }
        }

        var byteCount: Int { bytes.count }
        /// The beginning of the file, as of the copy's commit.
        var beginning: [UInt8] { Array(bytes.prefix(SQLiteHeader.byteCount)) }
        private var header: SQLiteHeader? { SQLiteHeader(beginning) }

        /// Makes this the content of a database in memory. The image is then empty.
        func move(into db: Database) throws {
            // A database in memory has no log.
            for place in 18...19 { bytes[place] = 1 }
            let (content, count) = (bytes.assumingMemoryBound(to: UInt8.self).baseAddress, Int64(bytes.count))
            bytes = UnsafeMutableRawBufferPointer(start: nil, count: 0)
            let flags = UInt32(SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE)
            let code = sqlite3_deserialize(db.sqliteConnection, "main", content, count, count, flags)
            guard code == SQLITE_OK else { throw DatabaseError(resultCode: ResultCode(rawValue: code)) }
        }
    }

    extension SQLiteFile {
        /// Copies the file and its log as of one commit, even while another process writes to them. Changes nothing.
        /// - Throws: `missing`, `foreign`, `damaged`, `oversized`, `unavailable`; `busy` if the store keeps changing.
        func image(bytesMax: Int) throws -> SQLiteImage {
            try check()
            for attempt in 0..<Self.copiesMax {
                if attempt > 0 { usleep(1000 << UInt32(min(attempt, 4))) }
                let image = try FileClaim.read(path) { try SQLiteImage($0, bytesMax: bytesMax) }
                guard let image else { continue }
                let header = try checkedHeader(image.beginning, size: Int64(image.byteCount))
                guard image.byteCount == header.byteCount else {
                    throw StorageError.damaged(path, "it has \(image.byteCount) bytes instead of \(header.byteCount)")
                }
                return image
            }
            throw StorageError(.busy, "'\(path)' is opened and closed again and again; try again later")
        }

        /// Maximum number of attempts to copy a store that another process changes. The pauses between them take 0.27
        /// seconds in total.
        private static let copiesMax = 20
    }

    extension StorageError {
        static func oversized(_ path: String, _ bytesMax: Int) -> StorageError {
            StorageError(
                .oversized,
                "'\(path)' has more than \(bytesMax) bytes; keep what a widget reads in a store of its own, or raise bytesMax"
            )
        }
    }
#endif
