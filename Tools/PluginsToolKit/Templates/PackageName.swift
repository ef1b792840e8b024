import MeshToolOutput

/// The name of a new package, and the names derived from it.
struct PackageName: Equatable {
    /// The name as given, such as `FileDrop`. Names the module and begins the names of its types.
    let module: String
    /// The plugin's own name after its kind, such as `file-drop`.
    let dashed: String
    /// The beginning of constants' names, such as `fileDrop`.
    let camel: String

    /// - Parameter taken: Other modules that must not be shadowed, in addition to ours.
    /// - Throws: `ToolError` if the name isn't a valid type name or is taken.
    init(_ name: String, taken: some Sequence<String> = []) throws(ToolError) {
        let isIdentifier = name.utf8.allSatisfy { $0.isLetter || $0.isDigit || $0 == UInt8(ascii: "_") }
        guard isIdentifier, let first = name.utf8.first, first.isUppercase else {
            let words = name.split { !$0.isASCII || !($0.isLetter || $0.isNumber) }
            let suggestion = words.map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
            let example = suggestion.utf8.first.map(\.isUppercase) == true ? suggestion : "FileDrop"
            throw ToolError(
                "'\(name)' cannot name a Swift type; use ASCII letters and digits and begin with a capital, "
                    + "such as \(example)")
        }
        guard !Self.reserved.contains(name), !taken.contains(name), !name.hasPrefix("Mesh") else {
            throw ToolError("'\(name)' is, or reads like, a name of Swift's or of SessionMesh; choose another")
        }
        let words = Self.words(of: name)
        module = name
        dashed = words.joined(separator: "-")
        camel = words.enumerated().map { $0 == 0 ? $1 : $1.prefix(1).uppercased() + $1.dropFirst() }.joined()
    }

    /// Returns the words of a name in lower case: `http` and `server2` for `HTTPServer2`.
    private static func words(of name: String) -> [String] {
        let letters = Array(name.utf8)
        var words: [String] = [""]
        for (index, letter) in letters.enumerated() {
            guard letter != UInt8(ascii: "_") else {
                words.append("")
                continue
            }
            let isAfterSmall = index > 0 && !letters[index - 1].isUppercase
            let isBeforeSmall = index + 1 < letters.count && letters[index + 1].isLowercase
            if letter.isUppercase, index > 0, isAfterSmall || isBeforeSmall { words.append("") }
            words[words.count - 1] += Character(Unicode.Scalar(letter)).lowercased()
        }
        return words.filter { !$0.isEmpty }
    }

    /// Names that a package must not have: names of the language, modules that the package imports, and our modules without
    /// their prefix. With one of ours, `XPlugin`, `XCodec` and `XLink` would clash.
    private static let reserved: Set<String> = [
        "Base", "BenchmarkCases", "Benchmarks", "BrokenRules", "Bus", "Codec", "CodecBenchmark", "Compact",
        "CompactCodec",
        "Connection", "Delivery", "Diagnostics", "Discovery", "Engine", "FileTransfer", "Fixtures", "GatewayLab",
        "GatewayServer", "GatewayTransport", "GPX", "GroceriesExample", "Identity", "Inspector", "JSON", "JSONCodec",
        "KeySync", "Libdeflate", "LocalNetworkLab", "Loopback", "LoopbackTransport", "Mailbox", "MQTT", "MQTTLab",
        "MQTTTransport", "NetworkBenchmarks", "Payload", "Pipe", "PipeTransport", "PluginsTool", "PluginsToolKit",
        "Programs", "RedisLab", "RedisReplay", "Register", "Relay", "Requests", "Resume", "ResumeGateway",
        "ResumeWebSocket", "Scenario", "ScenarioTransport", "Security", "Series", "Session", "SessionMesh",
        "SessionMeshWatchConnectivity", "SharedState", "SimulatedWatch", "Simulation", "SQLite", "SQLiteStorage",
        "Storage", "Testing", "TestSupport", "TimerAnchor", "ToolOutput", "Transport", "UDP", "UDPTransport",
        "VirtualTime", "WatchConnectivity", "WatchConnectivityTransport", "WebSocket", "Wire", "WorkoutExample", "Zstd",
        "CDNSSD", "CHeldMemory", "CHiredis", "CLibdeflate", "CMosquitto", "COneThread", "CSQLite", "CZlib", "CZstd",
        "Any",
        "Foundation", "FoundationEssentials", "Protocol", "Self", "Swift", "Synchronization", "Type", "XCTest",
        "ArgumentParser", "Crypto", "GRDB", "Logging", "NIOCore", "NIOPosix", "NIOSSL", "X509",
    ]
}

extension UInt8 {
    fileprivate var isUppercase: Bool { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self) }
    fileprivate var isLowercase: Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self) }
    fileprivate var isLetter: Bool { isUppercase || isLowercase }
    fileprivate var isDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }
}
