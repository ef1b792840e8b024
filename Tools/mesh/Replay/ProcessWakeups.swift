#if CommandLineTools
    import Foundation

    /// The number of times that a thread of this process was woken, counted as voluntary context switches.
    ///
    /// Idle energy use follows this number: waking a core for nothing costs more than an event.
    enum ProcessWakeups {
        static var count: Int {
            var usage = rusage()
            #if canImport(Darwin)
                let process = RUSAGE_SELF
            #else
                let process = __rusage_who_t(RUSAGE_SELF.rawValue)
            #endif
            guard getrusage(process, &usage) == 0 else { return 0 }
            return Int(usage.ru_nvcsw)
        }
    }
#endif
