import MeshBase

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// The path of a Unix socket, checked to fit the system's address.
struct UnixSocketPath: Hashable, Sendable {
    let value: String

    /// The longest path in bytes: `sun_path` less its terminator.
    static let bytesMax = MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1

    /// - Throws: `PipeError` with `invalidPath`.
    init(_ value: String) throws(PipeError) {
        let bytes = value.utf8
        guard !bytes.isEmpty, !bytes.contains(0) else {
            throw PipeError(code: .invalidPath, message: "'\(value)' isn't the path of a socket", errorNumber: 0)
        }
        guard bytes.count <= Self.bytesMax else {
            throw PipeError(
                code: .invalidPath,
                message: "a socket's path of \(bytes.count) bytes exceeds the limit of \(Self.bytesMax): \(value)",
                errorNumber: 0)
        }
        self.value = value
    }

    /// Returns a socket connected to the process of this user that listens here. Non-blocking, closed on exec; the
    /// caller closes it.
    /// - Throws: `PipeError` with `otherUser` or `systemCallFailed`.
    func connect() throws(PipeError) -> Int32 {
        let descriptor = try Self.makeSocket()
        do throws(PipeError) {
            guard withAddress({ systemConnect(descriptor, $0, $1) }) == 0 else {
                throw .systemCallFailed("connect to \(value)", errno)
            }
            let user = try SocketUser.of(descriptor)
            guard user == FileAccess.thisUser else { throw .otherUser(user, at: value) }
        } catch {
            close(descriptor)
            throw error
        }
        return descriptor
    }

    /// Checks that the file here, if any, belongs to this user. Another process may replace it at any moment, so only
    /// the user at the other end of a connection counts.
    /// - Throws: `PipeError` with `otherUser`.
    func checkOwner() throws(PipeError) {
        guard let access = FileAccess(linkAt: value), access.owner != FileAccess.thisUser else { return }
        throw .otherUser(access.owner, at: value)
    }

    /// Checks that the folder belongs to this user or root, and that others can't replace files in it.
    /// - Throws: `PipeError` with `notPrivate`.
    func checkFolder() throws(PipeError) {
        guard let problem = FileAccess(path: folder)?.problem(withFolder: folder, isShared: true) else { return }
        throw PipeError(code: .notPrivate, message: "a socket at \(value): \(problem)", errorNumber: 0)
    }

    private var folder: String {
        guard let slash = value.lastIndex(of: "/") else { return "." }
        return slash == value.startIndex ? "/" : String(value[..<slash])
    }

    /// Returns a socket that listens here, for this user only. The caller has made sure that no other process does.
    /// - Throws: `PipeError` with `systemCallFailed`.
    func listen(backlog: Int32) throws(PipeError) -> Int32 {
        let descriptor = try Self.makeSocket()
        do throws(PipeError) {
            // Linux gives the file the socket's own mode. Elsewhere `chmod` below sets it before `listen`, so before
            // other processes can connect.
            _ = fchmod(descriptor, 0o600)
            guard withAddress({ bind(descriptor, $0, $1) }) == 0 else {
                throw .systemCallFailed("bind \(value)", errno)
            }
            guard chmod(value, 0o600) == 0 else { throw .systemCallFailed("chmod \(value)", errno) }
            guard systemListen(descriptor, backlog) == 0 else { throw .systemCallFailed("listen at \(value)", errno) }
        } catch {
            close(descriptor)
            throw error
        }
        return descriptor
    }

    /// Returns a connection that waits to be accepted. Non-blocking, closed on exec; the caller closes it.
    /// - Returns: nil if there is none, with the reason in `errno`.
    static func accept(from listener: Int32) -> Int32? {
        let descriptor = systemAccept(listener)
        guard descriptor >= 0 else { return nil }
        configure(descriptor)
        return descriptor
    }

    static func discard(_ descriptor: Int32) { close(descriptor) }

    private static func makeSocket() throws(PipeError) -> Int32 {
        #if canImport(Glibc)
            let kind = Int32(SOCK_STREAM.rawValue)
        #else
            let kind = SOCK_STREAM
        #endif
        let descriptor = socket(AF_UNIX, kind, 0)
        guard descriptor >= 0 else { throw .systemCallFailed("socket", errno) }
        configure(descriptor)
        return descriptor
    }

    private static func configure(_ descriptor: Int32) {
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
    }

    private func withAddress(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: value.utf8) }
        return withUnsafeBytes(of: &address) { bytes in
            bytes.withMemoryRebound(to: sockaddr.self) { address in
                guard let start = address.baseAddress else { return -1 }
                return body(start, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }
}

// Methods with these names hide the system's functions.
private func systemConnect(_ descriptor: Int32, _ address: UnsafePointer<sockaddr>, _ count: socklen_t) -> Int32 {
    connect(descriptor, address, count)
}

private func systemListen(_ descriptor: Int32, _ backlog: Int32) -> Int32 { listen(descriptor, backlog) }

private func systemAccept(_ descriptor: Int32) -> Int32 { accept(descriptor, nil, nil) }
