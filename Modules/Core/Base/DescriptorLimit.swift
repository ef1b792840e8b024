#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The limit on the number of files and sockets that this process may have open.
package enum DescriptorLimit {
    /// Raises the limit to `most`, or as far as the system allows. Never lowers it.
    package static func raise(to most: UInt64 = .max) {
        #if canImport(Darwin) || canImport(Glibc) || canImport(Musl)
            var limit = rlimit()
            guard getrlimit(resource, &limit) == 0 else { return }
            let wanted = min(limit.rlim_max, rlim_t(most))
            guard wanted > limit.rlim_cur else { return }
            limit.rlim_cur = wanted
            _ = setrlimit(resource, &limit)
        #endif
    }

    /// The current limit, and the highest limit that the process may request. Each is `Int.max` if it is infinite or
    /// unknown.
    package static var current: (soft: Int, hard: Int) {
        #if canImport(Darwin) || canImport(Glibc) || canImport(Musl)
            var limit = rlimit()
            if getrlimit(resource, &limit) == 0 {
                return (Int(clamping: limit.rlim_cur), Int(clamping: limit.rlim_max))
            }
        #endif
        return (.max, .max)
    }

    #if canImport(Glibc)
        private static let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    #elseif canImport(Darwin) || canImport(Musl)
        private static let resource = RLIMIT_NOFILE
    #endif
}
