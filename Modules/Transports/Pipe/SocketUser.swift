#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// The user at the other end of a Unix socket.
enum SocketUser {
    /// Returns the effective user of the process at the other end, at the moment when that process connected or began
    /// to listen.
    /// - Throws: `PipeError` with `systemCallFailed`.
    static func of(_ descriptor: Int32) throws(PipeError) -> UInt32 {
        #if canImport(Darwin)
            var (user, group) = (uid_t.max, gid_t.max)
            guard getpeereid(descriptor, &user, &group) == 0 else { throw .systemCallFailed("getpeereid", errno) }
            return UInt32(user)
        #else
            // The layout of `struct ucred`, which some libraries' headers don't show.
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
