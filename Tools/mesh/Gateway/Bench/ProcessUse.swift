#if CommandLineTools && WebSocket
    import Foundation

    /// The memory and processor time of a process, from Linux' /proc. Each is 0 if the system doesn't report it.
    enum ProcessUse {
        /// Returns the resident bytes of a process.
        static func residentBytes(of process: Int32) -> Int {
            guard let text = try? String(contentsOfFile: "/proc/\(process)/statm", encoding: .utf8) else { return 0 }
            let pages = text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
            return pages * sysconf(Int32(_SC_PAGESIZE))
        }

        /// Returns the seconds for which the process's threads have run.
        static func seconds(of process: Int32) -> Double {
            let threads = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/task")) ?? []
            let nanoseconds = threads.compactMap { thread in
                (try? String(contentsOfFile: "/proc/\(process)/task/\(thread)/schedstat", encoding: .utf8))
                    .flatMap { $0.split(separator: " ").first }.flatMap { Double($0) }
            }
            return nanoseconds.reduce(0, +) / 1e9
        }
    }
#endif
