#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Pins two processes to a core each, so that a round trip goes between cores. Does nothing if the system has fewer than two
/// cores or no call for it.
enum LinkCores {
    enum Core: UInt {
        case first = 0b01
        case second = 0b10
    }

    /// Confines every thread of this process, and threads they start later, to one core.
    static func pin(to core: Core) { confine(to: core.rawValue) }

    /// Lets the threads run on any core again.
    static func release() { confine(to: .max) }

    private static func confine(to cores: UInt) {
        #if canImport(Glibc)
            // Looked up at run time: the headers declare it only if GNU extensions were requested before.
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
