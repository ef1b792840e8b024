#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The time since the system was started, which goes on while it sleeps and over launches of an app.
package enum SystemUptime {
    /// What `ContinuousClock` counts.
    package static let elapsed: @Sendable () -> Duration = {
        var time = timespec()
        #if canImport(Darwin)
            clock_gettime(CLOCK_MONOTONIC_RAW, &time)
        #elseif os(Linux) || os(Android)
            clock_gettime(CLOCK_BOOTTIME, &time)
        #else
            return SystemClock().elapsed
        #endif
        return .seconds(Int64(time.tv_sec)) + .nanoseconds(Int64(time.tv_nsec))
    }

    /// Another one each time the system starts; nil where the system doesn't tell.
    package static let bootID: String? = {
        #if canImport(Darwin)
            var (bytes, count) = ([UInt8](repeating: 0, count: 64), 64)
            guard sysctlbyname("kern.bootsessionuuid", &bytes, &count, nil, 0) == 0 else { return nil }
            bytes.removeLast(bytes.count - count)
        #else
            guard let file = fopen("/proc/sys/kernel/random/boot_id", "r") else { return nil }
            defer { fclose(file) }
            var bytes = [UInt8](repeating: 0, count: 64)
            bytes.removeLast(bytes.count - fread(&bytes, 1, bytes.count, file))
        #endif
        let id = bytes.prefix { $0 > UInt8(ascii: " ") }
        return id.isEmpty ? nil : String(decoding: id, as: UTF8.self)
    }()
}
