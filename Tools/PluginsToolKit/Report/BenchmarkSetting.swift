import Foundation

#if canImport(Darwin)
    import Darwin
#endif

/// The machine, the library version and the time of a measurement.
struct BenchmarkSetting: Encodable, Equatable {
    /// The date in ISO 8601.
    let date: String
    /// The version of the library.
    let version: String
    /// `debug` or `release`.
    let build: String
    /// The name of the processor, or its architecture if the system doesn't say.
    let processor: String
    /// Number of cores that the process may use.
    let cores: Int
    let memoryBytes: UInt64
    /// The operating system and its version.
    let system: String

    init(version: String, at date: Date = Date()) {
        let process = ProcessInfo.processInfo
        self.date = date.formatted(.iso8601)
        self.version = version
        processor = Self.processorName ?? Self.architecture
        cores = process.activeProcessorCount
        memoryBytes = process.physicalMemory
        system = process.operatingSystemVersionString
        #if DEBUG
            build = "debug"
        #else
            build = "release"
        #endif
    }

    private static var processorName: String? {
        #if canImport(Darwin)
            var size = 0
            guard sysctlbyname("machdep.cpu.brand_string", nil, &size, nil, 0) == 0, size > 1 else { return nil }
            var bytes = [UInt8](repeating: 0, count: size)
            guard sysctlbyname("machdep.cpu.brand_string", &bytes, &size, nil, 0) == 0 else { return nil }
            return String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        #else
            let lines = (try? String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8))?.split(separator: "\n") ?? []
            let name = lines.first { $0.hasPrefix("model name") }?.split(separator: ":", maxSplits: 1).last
            return name.map { $0.trimmingCharacters(in: .whitespaces) }
        #endif
    }

    private static var architecture: String {
        #if arch(arm64)
            "arm64"
        #elseif arch(x86_64)
            "x86_64"
        #else
            "unknown processor"
        #endif
    }
}
