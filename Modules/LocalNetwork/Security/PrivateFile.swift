#if UDP
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

    /// A small file that only this user may read and write, and that is there whole or not at all. Its folder may not be
    /// writable by others, unless it is one like /tmp.
    ///
    /// Calls block for as long as the disk takes.
    struct PrivateFile: Sendable {
        let path: String

        /// - Throws: `invalidArgument`.
        init(_ path: String) throws(SecurityError) {
            guard !path.isEmpty, !path.utf8.contains(0), path.utf8.last != UInt8(ascii: "/") else {
                throw SecurityError(.invalidArgument, "a file needs a name, not '\(path)'")
            }
            self.path = path
        }

        /// - Returns: nil when there is no file.
        /// - Throws: `notPrivate`; `damaged` when it has more than that many bytes; `missing`, `systemCallFailed`.
        func read(bytesMax: Int) throws(SecurityError) -> [UInt8]? {
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
            throw SecurityError(.damaged, "'\(path)' has more than \(bytesMax) bytes; move it away")
        }

        /// Makes the file if there is none.
        /// - Returns: whether it was made; a file that somebody else has made in the meantime stays.
        /// - Throws: `notPrivate`, `missing`, `systemCallFailed`.
        func create(_ bytes: [UInt8]) throws(SecurityError) -> Bool {
            let draft = try write(bytes)
            defer { unlink(draft) }
            if link(draft, path) == 0 {
                syncFolder()
                return true
            }
            if errno == EEXIST { return false }
            // Without hard links (some file systems; apps on Android) the lock keeps away whoever does the same.
            return try withLock { () throws(SecurityError) in
                if access(path, F_OK) == 0 { return false }
                guard rename(draft, path) == 0 else { throw failure("rename", errno) }
                syncFolder()
                return true
            }
        }

        /// Puts the bytes in the place of what is there.
        /// - Throws: `notPrivate`, `missing`, `systemCallFailed`; the file is as it was then.
        func replace(_ bytes: [UInt8]) throws(SecurityError) {
            let draft = try write(bytes)
            guard rename(draft, path) == 0 else {
                let number = errno
                unlink(draft)
                throw failure("rename", number)
            }
            syncFolder()
        }

        /// Runs `body` while no other process, and no other file object of this one, is in here for the same path.
        /// - Throws: `notPrivate`, `missing`, `systemCallFailed`, or what `body` throws.
        func withLock<Result>(_ body: () throws(SecurityError) -> Result) throws(SecurityError) -> Result {
            try checkFolder()
            let lock = path + ".lock"
            let descriptor = open(lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
            guard descriptor >= 0 else { throw failure("open the lock of", errno) }
            defer { close(descriptor) }
            // Another user's lock might never be let go.
            if let access = FileAccess(descriptor: descriptor), access.owner != FileAccess.thisUser {
                throw SecurityError(
                    .notPrivate, "'\(lock)' belongs to user \(access.owner): use a file in a folder of your own")
            }
            while flock(descriptor, LOCK_EX) != 0 {
                guard errno == EINTR else { throw failure("lock", errno) }
            }
            return try body()
        }
    }

    extension PrivateFile {
        /// Writes and syncs a file of another name beside this one.
        private func write(_ bytes: [UInt8]) throws(SecurityError) -> String {
            try checkFolder()
            let draft = path + ".new-" + String(UInt64.random(in: 0 ... .max), radix: 36)
            let descriptor = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
            guard descriptor >= 0 else { throw failure("make a file beside", errno) }
            defer { close(descriptor) }
            do throws(SecurityError) {
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

        private func check(_ descriptor: Int32) throws(SecurityError) {
            var status = stat()
            guard fstat(descriptor, &status) == 0 else { throw failure("look at", errno) }
            guard status.st_mode & S_IFMT == S_IFREG else {
                throw SecurityError(.notPrivate, "'\(path)' is not a file")
            }
            guard status.st_uid == geteuid() else {
                throw SecurityError(.notPrivate, "'\(path)' belongs to another user; use a file of your own")
            }
            guard status.st_mode & 0o077 == 0 else {
                throw SecurityError(
                    .notPrivate, "others may read or write '\(path)': if nobody has, run chmod 600; else make a new one"
                )
            }
        }

        private func checkFolder() throws(SecurityError) {
            guard let flaw = FileAccess(path: folder)?.flaw(ofFolder: folder, isShared: true) else { return }
            throw SecurityError(.notPrivate, flaw)
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

        private func failure(_ verb: String, _ number: Int32) -> SecurityError {
            switch number {
            case ENOENT, ENOTDIR:
                SecurityError(.missing, "the folder of '\(path)' does not exist; make it first", errorNumber: number)
            case ELOOP:
                SecurityError(.notPrivate, "'\(path)' is a link; name the file itself", errorNumber: number)
            default:
                SecurityError(
                    .systemCallFailed, "cannot \(verb) '\(path)': \(String(cString: strerror(number)))",
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
#endif
