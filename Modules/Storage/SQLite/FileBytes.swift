#if SQLite
    internal import Foundation
    internal import MeshStorage

    /// An open file that can be read at any offset. Closes its descriptor in `deinit` if it has opened the file itself.
    final class FileBytes {
        let path: String
        let descriptor: Int32
        private let ownsDescriptor: Bool

        /// - Parameter descriptor: belongs to the caller, who closes it.
        init(_ path: String, descriptor: Int32) {
            (self.path, self.descriptor, ownsDescriptor) = (path, descriptor, false)
        }

        /// Opens a file; nil if there is none. Not for a file on which this process holds locks: closing it drops them.
        init?(path: String) throws {
            let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
            guard descriptor >= 0 || errno == ENOENT else { throw StorageError(readErrno: errno, path: path) }
            guard descriptor >= 0 else { return nil }
            (self.path, self.descriptor, ownsDescriptor) = (path, descriptor, true)
        }

        deinit { if ownsDescriptor { close(descriptor) } }

        /// Reads until the buffer is full or the file ends. Returns the number of bytes read.
        func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws -> Int {
            var count = 0
            while count < buffer.count {
                let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[count...])
                let read = pread(descriptor, rest.baseAddress, rest.count, off_t(offset) + off_t(count))
                if read == 0 { break }
                guard read > 0 || errno == EINTR else { throw StorageError(readErrno: errno, path: path) }
                count += max(read, 0)
            }
            return count
        }

        func read(into bytes: inout [UInt8], at offset: UInt64) throws -> Int {
            try bytes.withUnsafeMutableBytes { try read(into: $0, at: offset) }
        }

        /// The file's identity, size and time of the last change.
        struct Version: Equatable {
            let device: UInt64
            let inode: UInt64
            let byteCount: Int64
            let (seconds, nanoseconds): (Int, Int)

            init(_ status: stat) {
                (device, inode) = (UInt64(truncatingIfNeeded: status.st_dev), UInt64(status.st_ino))
                byteCount = Int64(status.st_size)
                #if canImport(Darwin)
                    let time = status.st_mtimespec
                #else
                    let time = status.st_mtim
                #endif
                (seconds, nanoseconds) = (Int(time.tv_sec), Int(time.tv_nsec))
            }
        }

        func version() throws -> Version {
            var status = stat()
            guard fstat(descriptor, &status) == 0 else { throw StorageError(readErrno: errno, path: path) }
            return Version(status)
        }
    }

    extension StorageError {
        /// - Parameter readErrno: the error of a system call that only reads the file.
        init(readErrno errno: Int32, path: String) {
            switch errno {
            case ENOENT, ENOTDIR:
                self.init(.missing, "'\(path)' doesn't exist: no app has created this store; start the app once")
            case EACCES, EPERM:
                self.init(
                    .unavailable,
                    "'\(path)' can't be read; change its permissions or, on a locked device, its data protection")
            default: self.init(errno: errno, path: path)
            }
        }
    }
#endif
