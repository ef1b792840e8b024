import Foundation

/// The resources used by a process so far: CPU time, and how often one of its threads gave up its core to wait. Each such
/// wait ends with a wakeup.
struct ProcessCost {
    private(set) var nanoseconds: UInt64 = 0
    private(set) var waits: UInt64 = 0

    /// Reads the cost of the threads that exist now. Returns nil if the system doesn't report it; only Linux does.
    init?(of process: Int32) {
        let threads = "/proc/\(process)/task"
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: threads) else { return nil }
        for name in names {
            guard let times = Self.text("\(threads)/\(name)/schedstat"),
                let status = Self.text("\(threads)/\(name)/status")
            else { continue }
            nanoseconds += times.split(separator: " ").first.flatMap { UInt64($0) } ?? 0
            let line = status.split(separator: "\n").first { $0.hasPrefix("voluntary_ctxt_switches") }
            waits += line?.split(separator: "\t").last.flatMap { UInt64($0) } ?? 0
        }
    }

    private static func text(_ path: String) -> String? { try? String(contentsOfFile: path, encoding: .utf8) }

    static func - (later: ProcessCost, earlier: ProcessCost) -> ProcessCost {
        var difference = later
        difference.nanoseconds = later.nanoseconds - min(earlier.nanoseconds, later.nanoseconds)
        difference.waits = later.waits - min(earlier.waits, later.waits)
        return difference
    }
}
