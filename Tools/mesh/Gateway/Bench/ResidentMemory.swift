#if CommandLineTools && WebSocket
    import Foundation

    enum ResidentMemory {
        /// Returns the resident bytes of a process, or 0 if the system doesn't report them.
        static func bytes(of process: Int32) -> Int {
            guard let text = try? String(contentsOfFile: "/proc/\(process)/statm", encoding: .utf8) else { return 0 }
            let pages = text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
            return pages * sysconf(Int32(_SC_PAGESIZE))
        }
    }
#endif
