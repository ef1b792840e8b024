#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A core for each of two processes, so that a round trip is one between cores. Nothing happens where the system has
/// fewer than two, or no call for it.
enum LinkCores {
    enum Core: UInt {
        case first = 0b01
        case second = 0b10
    }

    /// Every thread of this process, and those that they begin.
    static func pin(to core: Core) { confine(to: core.rawValue) }

    /// They may run anywhere again.
    static func release() { confine(to: .max) }

    private static func confine(to cores: UInt) {
        #if canImport(Glibc)
            // The headers show it to nobody who has not asked for GNU's own calls before.
            typealias Confine = @convention(c) (pid_t, Int, UnsafePointer<UInt>) -> Int32
            guard sysconf(Int32(_SC_NPROCESSORS_ONLN)) > 1, let symbol = dlsym(nil, "sched_setaffinity"),
                let threads = opendir("/proc/self/task")
            else { return }
            defer { closedir(threads) }
            let confine = unsafeBitCast(symbol, to: Confine.self)
            var cores = cores
            while let entry = readdir(threads) {
                let name = withUnsafePointer(to: &entry.pointee.d_name.0) { String(cString: $0) }
                if let thread = pid_t(name) { _ = confine(thread, MemoryLayout<UInt>.size, &cores) }
            }
        #endif
    }
}
