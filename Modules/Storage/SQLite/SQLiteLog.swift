#if SQLite
    internal import MeshStorage

    /// The committed pages of a write-ahead log (SQLite, "WAL-Mode File Format"). A frame is a header and a page. Each frame's
    /// checksum covers the frames before it, and the last frame of a commit has the size of the file.
    struct SQLiteLog {
        /// The header of a log. SQLite draws new salts whenever it begins to overwrite a log, so an equal header means that the
        /// log has only grown.
        struct Header: Equatable {
            static let byteCount = 32
            let bytes: [UInt8]

            /// Returns nil if the log is missing or empty.
            init?(_ file: FileBytes?) throws {
                var bytes = [UInt8](repeating: 0, count: Self.byteCount)
                guard let file, try file.read(into: &bytes, at: 0) == Self.byteCount else { return nil }
                self.bytes = bytes
            }
        }

        /// The offset of each committed page in the log, by its number, from 1.
        private(set) var offsets: [Int: UInt64] = [:]
        /// Number of pages of the file after the last commit; nil if the log has none.
        private(set) var pageCount: Int?

        private static let frameHeaderByteCount = 24

        /// Finds the last commit in the log, and the pages up to it. The log ends before the first frame that isn't valid.
        ///
        /// - Throws: `oversized` for a file of more pages than `pagesMax`; `unavailable`.
        init(_ header: Header, of file: FileBytes, pageSize: Int, pagesMax: Int) throws {
            guard var checksum = Checksum(header, pageSize: pageSize) else { return }
            let salts = header.bytes[16..<24]
            var uncommitted: [Int: UInt64] = [:]
            var frame = [UInt8](repeating: 0, count: Self.frameHeaderByteCount + pageSize)
            var offset = UInt64(Header.byteCount)
            while try file.read(into: &frame, at: offset) == frame.count {
                checksum.add(frame[0..<8])
                checksum.add(frame[Self.frameHeaderByteCount...])
                let (page, size) = (Int(frame.big32(0)), Int(frame.big32(4)))
                guard frame[8..<16] == salts, checksum.equals(frame[16..<24]), page > 0 else { return }
                guard max(page, size) <= pagesMax else { throw StorageError.oversized(file.path, pagesMax * pageSize) }
                uncommitted[page] = offset + UInt64(Self.frameHeaderByteCount)
                offset += UInt64(frame.count)
                guard size > 0 else { continue }
                offsets.merge(uncommitted) { $1 }
                uncommitted = [:]
                pageCount = size
            }
        }

        /// The checksum of a log: two sums over words of 32 bits, in the byte order that the log's signature states.
        private struct Checksum {
            private var (first, second): (UInt32, UInt32) = (0, 0)
            private let isBigEndian: Bool

            /// Returns nil if the header isn't one of a log with such pages.
            init?(_ header: Header, pageSize: Int) {
                let bytes = header.bytes
                guard bytes.big32(0) & ~1 == 0x377F_0682, bytes.big32(4) == 3_007_000, bytes.big32(8) == pageSize else {
                    return nil
                }
                isBigEndian = bytes.big32(0) & 1 == 1
                add(bytes[..<24])
                guard equals(bytes[24..<32]) else { return nil }
            }

            /// Adds bytes whose number is a multiple of 8.
            mutating func add(_ bytes: ArraySlice<UInt8>) {
                var (first, second) = (first, second)
                bytes.withUnsafeBytes { bytes in
                    for offset in stride(from: 0, to: bytes.count - 7, by: 8) {
                        first &+= word(bytes, offset) &+ second
                        second &+= word(bytes, offset + 4) &+ first
                    }
                }
                (self.first, self.second) = (first, second)
            }

            private func word(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> UInt32 {
                let word = bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self)
                return isBigEndian ? UInt32(bigEndian: word) : UInt32(littleEndian: word)
            }

            func equals(_ bytes: ArraySlice<UInt8>) -> Bool {
                let stored = Array(bytes)
                return stored.big32(0) == first && stored.big32(4) == second
            }
        }
    }

    extension [UInt8] {
        func big32(_ offset: Int) -> UInt32 { self[offset..<offset + 4].reduce(0) { $0 << 8 | UInt32($1) } }
    }
#endif
