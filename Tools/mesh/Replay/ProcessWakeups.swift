#if CommandLineTools
    import Foundation

    /// How often threads of this process have been woken: each time one gave up its core to wait.
    ///
    /// What a device spends on being there follows it: a core that is woken for nothing costs more than one event.
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
