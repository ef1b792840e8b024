#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// Who is at the other end of a Unix socket.
enum SocketUser {
    /// The effective user of the process at the other end, as the system keeps it: from the moment at which that process
    /// connected, or began to listen.
    /// - Throws: `PipeError` with `systemCallFailed`.
    static func of(_ descriptor: Int32) throws(PipeError) -> UInt32 {
        #if canImport(Darwin)
            var (user, group) = (uid_t.max, gid_t.max)
            guard getpeereid(descriptor, &user, &group) == 0 else { throw .systemCallFailed("getpeereid", errno) }
            return UInt32(user)
        #else
            // `struct ucred`, which not every library's headers show.
            var credentials: (process: Int32, user: UInt32, group: UInt32) = (0, .max, .max)
            let size = socklen_t(MemoryLayout.size(ofValue: credentials))
            var count = size
            guard getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &count) == 0, count == size else {
                throw .systemCallFailed("getsockopt SO_PEERCRED", errno)
            }
            return credentials.user
        #endif
    }
}
