import MeshToolOutput

/// What a new package is called, and what follows from that.
struct PackageName: Equatable {
    /// As given, such as `FileDrop`: the module, and the beginning of its types.
    let module: String
    /// `file-drop`: the plugin's own name, after its kind.
    let dashed: String
    /// `fileDrop`: the beginning of constants.
    let camel: String

    /// - Parameter taken: modules that must not be shadowed, beside our own.
    /// - Throws: `ToolError` for what is no name of a type, or taken.
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

    /// In lower case: `HTTPServer2` is `http`, `server2`.
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

    /// Ours without their prefix, since `XPlugin`, `XCodec` and `XLink` would be the same; the language's; and modules
    /// that the package imports.
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
        "VirtualTime", "WatchConnectivity", "WatchConnectivityTransport", "WebSocket", "Wire", "WorkoutExample",
        "CDNSSD", "CHeldMemory", "CHiredis", "CLibdeflate", "CMosquitto", "COneThread", "CSQLite", "CZlib", "Any",
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
