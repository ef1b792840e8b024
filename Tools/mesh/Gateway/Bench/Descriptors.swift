#if CommandLineTools && WebSocket
    import Foundation
    import MeshWebSocket

    enum Descriptors {
        /// As many files and sockets as the system lets this process have.
        static func raiseLimit() throws {
            var limit = rlimit()
            #if canImport(Glibc)
                let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
            #else
                let resource = RLIMIT_NOFILE
            #endif
            guard getrlimit(resource, &limit) == 0 else { return }
            limit.rlim_cur = min(limit.rlim_max, 65_536)
            _ = setrlimit(resource, &limit)
        }

        /// Resident bytes of a process; 0 where the system does not tell.
        static func residentBytes(of process: Int32) -> Int {
            guard let text = try? String(contentsOfFile: "/proc/\(process)/statm", encoding: .utf8) else { return 0 }
            let pages = text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
            return pages * sysconf(Int32(_SC_PAGESIZE))
        }
    }
#endif
