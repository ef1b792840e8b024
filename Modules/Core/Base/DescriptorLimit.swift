#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// How many files and sockets this process may have open.
package enum DescriptorLimit {
    /// As many as the system lets it have, up to `most`. What is more already stays.
    package static func raise(to most: UInt64) {
        #if canImport(Darwin) || canImport(Glibc) || canImport(Musl)
            var limit = rlimit()
            #if canImport(Glibc)
                let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
            #else
                let resource = RLIMIT_NOFILE
            #endif
            guard getrlimit(resource, &limit) == 0 else { return }
            let wanted = min(limit.rlim_max, rlim_t(most))
            guard wanted > limit.rlim_cur else { return }
            limit.rlim_cur = wanted
            _ = setrlimit(resource, &limit)
        #endif
    }
}
