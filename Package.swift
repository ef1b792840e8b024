// swift-tools-version: 6.1
import PackageDescription

// One row per module, by wing (Docs/Internals/Architecture.md): what it is called, where it lives, the floor it stands on
// and what it uses. Products, test targets and settings are derived from the rows below.

struct Module {
    enum Form {
        case library, executable, internalLibrary
        case systemLibrary(pkgConfig: String?, apt: String, brew: String)
    }

    let name: String
    let path: String
    let floor: Int
    var form = Form.library
    var uses: [String] = []
    var needs: [Target.Dependency] = []
    var tests: [String]?
    var testsNeed: [Target.Dependency] = []
    /// Files that are compiled in.
    var embeds: [String] = []

    init(
        _ name: String, _ path: String, floor: Int, form: Form = .library,
        uses: [String] = [], needs: [Target.Dependency] = [], tests: [String]? = nil,
        testsNeed: [Target.Dependency] = [], embeds: [String] = []
    ) {
        self.name = name
        self.path = path
        self.floor = floor
        self.form = form
        self.uses = uses
        self.needs = needs
        self.tests = tests
        self.testsNeed = testsNeed
        self.embeds = embeds
    }
}

// Third-party products. Each stands behind a trait of the modules that need it.
let swiftLog = Target.Dependency.product(
    name: "Logging", package: "swift-log", condition: .when(traits: ["SwiftLog"]))
let coreMetrics = Target.Dependency.product(
    name: "CoreMetrics", package: "swift-metrics", condition: .when(traits: ["Metrics"]))
let argumentParser = Target.Dependency.product(
    name: "ArgumentParser", package: "swift-argument-parser", condition: .when(traits: ["CommandLineTools"]))
let grdb = Target.Dependency.product(name: "GRDB", package: "GRDB.swift", condition: .when(traits: ["SQLite"]))
let crypto = Target.Dependency.product(
    name: "Crypto", package: "swift-crypto", condition: .when(traits: ["UDP", "MQTT", "WebSocket"]))
let certificates = Target.Dependency.product(
    name: "X509", package: "swift-certificates", condition: .when(traits: ["UDP", "MQTT", "WebSocket"]))
let nio = ["NIOCore", "NIOPosix", "NIOTLS"].map {
    Target.Dependency.product(name: $0, package: "swift-nio", condition: .when(traits: ["UDP"]))
}
let tls = Target.Dependency.product(name: "NIOSSL", package: "swift-nio-ssl", condition: .when(traits: ["UDP"]))
let webSocket =
    ["NIOCore", "NIOPosix", "NIOHTTP1", "NIOWebSocket"].map {
        Target.Dependency.product(name: $0, package: "swift-nio", condition: .when(traits: ["WebSocket"]))
    } + [.product(name: "NIOSSL", package: "swift-nio-ssl", condition: .when(traits: ["WebSocket"]))]
let nioEmbedded = Target.Dependency.product(
    name: "NIOEmbedded", package: "swift-nio", condition: .when(traits: ["WebSocket"]))
// Libraries of the system that are needed under their trait only.
let libdeflate = Target.Dependency.target(name: "CLibdeflate", condition: .when(traits: ["Libdeflate"]))
let zstd = Target.Dependency.target(name: "CZstd", condition: .when(traits: ["Zstd"]))
let sqlite = Target.Dependency.target(name: "CSQLite", condition: .when(traits: ["SQLite"]))
let hiredis = Target.Dependency.target(name: "CHiredis", condition: .when(traits: ["Redis"]))
let mosquitto = Target.Dependency.target(name: "CMosquitto", condition: .when(traits: ["MQTT"]))
let dnssd = Target.Dependency.target(name: "CDNSSD", condition: .when(traits: ["SystemDiscovery"]))

// Modules of ours that are needed under its trait only, by one that does without it too.
let security = Target.Dependency.target(name: "MeshSecurity", condition: .when(traits: ["UDP", "MQTT", "WebSocket"]))
let udpTransport = Target.Dependency.target(name: "MeshUDPTransport", condition: .when(traits: ["UDP"]))
let gatewayServer = ["MeshGatewayServer", "MeshWebSocket"].map {
    Target.Dependency.target(name: $0, condition: .when(traits: ["WebSocket"]))
}
let inspector = Target.Dependency.target(name: "MeshInspector", condition: .when(traits: ["Inspector"]))
let redisReplay = Target.Dependency.target(name: "MeshRedisReplay", condition: .when(traits: ["Redis"]))
let gatewayTransport = Target.Dependency.target(
    name: "MeshGatewayTransport", condition: .when(traits: ["WebSocket"]))
let mqttTransport = Target.Dependency.target(name: "MeshMQTTTransport", condition: .when(traits: ["MQTT"]))
let relay = Target.Dependency.target(name: "MeshRelay", condition: .when(traits: ["MQTT", "WebSocket"]))
let sqliteStorage = Target.Dependency.target(name: "MeshSQLiteStorage", condition: .when(traits: ["SQLite"]))

// `tests` lists what the tests import beyond the module and what it uses; nil means that there are none.
let modules: [Module] = [
    // System: libraries of the system
    Module(
        "CZlib", "Modules/System/CZlib", floor: 0,
        form: .systemLibrary(pkgConfig: "zlib", apt: "zlib1g-dev", brew: "zlib")),
    Module(
        "CLibdeflate", "Modules/System/CLibdeflate", floor: 0,
        form: .systemLibrary(pkgConfig: "libdeflate", apt: "libdeflate-dev", brew: "libdeflate")),
    Module(
        "CZstd", "Modules/System/CZstd", floor: 0,
        form: .systemLibrary(pkgConfig: "libzstd", apt: "libzstd-dev", brew: "zstd")),
    Module(
        "CSQLite", "Modules/System/CSQLite", floor: 0,
        form: .systemLibrary(pkgConfig: "sqlite3", apt: "libsqlite3-dev", brew: "sqlite")),
    Module(
        "CDNSSD", "Modules/System/CDNSSD", floor: 0,
        form: .systemLibrary(
            pkgConfig: "avahi-compat-libdns_sd", apt: "libavahi-compat-libdnssd-dev", brew: "avahi")),
    // Its pkg-config flags point into its own folder, and its headers are found without them.
    Module(
        "CHiredis", "Modules/System/CHiredis", floor: 0,
        form: .systemLibrary(pkgConfig: nil, apt: "libhiredis-dev", brew: "hiredis")),
    Module(
        "CMosquitto", "Modules/System/CMosquitto", floor: 0,
        form: .systemLibrary(pkgConfig: "libmosquitto", apt: "libmosquitto-dev", brew: "mosquitto")),

    // Core: values, their bytes, and their order
    Module("MeshFoundation", "Modules/Core/Foundation", floor: 0, form: .internalLibrary),
    Module("MeshBase", "Modules/Core/Base", floor: 0, tests: []),
    Module("MeshBus", "Modules/Core/Bus", floor: 1, uses: ["MeshBase"], tests: []),
    Module("MeshIdentity", "Modules/Core/Identity", floor: 1, uses: ["MeshFoundation"], tests: []),
    Module("MeshTimerAnchor", "Modules/Core/TimerAnchor", floor: 1, uses: ["MeshFoundation"], tests: []),
    Module(
        "MeshWire", "Modules/Core/Wire", floor: 2,
        uses: ["CZlib", "MeshFoundation", "MeshBase", "MeshBus", "MeshIdentity"],
        tests: ["MeshTesting", "MeshTestSupport"]),
    Module(
        "MeshEngine", "Modules/Core/Engine", floor: 2, uses: ["MeshFoundation", "MeshBase", "MeshIdentity"],
        tests: ["MeshBrokenRules", "MeshTimerAnchor"]),
    Module(
        "MeshLibdeflate", "Modules/Core/Libdeflate", floor: 5,
        uses: ["MeshBus", "MeshWire"], needs: [libdeflate],
        tests: ["MeshIdentity", "MeshTesting"]),
    Module(
        "MeshZstd", "Modules/Core/Zstd", floor: 5,
        uses: ["MeshBus", "MeshWire"], needs: [zstd],
        tests: ["MeshIdentity", "MeshTesting", "MeshTestSupport"]),

    // Storage: what outlives a process
    Module("MeshStorage", "Modules/Storage/Contract", floor: 2, uses: ["MeshBase", "MeshBus"], tests: []),
    Module(
        "MeshSQLiteStorage", "Modules/Storage/SQLite", floor: 5,
        uses: ["MeshBase", "MeshBus", "MeshIdentity", "MeshStorage"], needs: [grdb, sqlite],
        tests: ["MeshTesting", "MeshTestSupport"]),

    // Transports: from a link to a dependable transport
    Module(
        "MeshTransport", "Modules/Transports/Contract", floor: 3,
        uses: ["MeshFoundation", "MeshBase", "MeshBus", "MeshIdentity"], tests: []),
    Module(
        "MeshDelivery", "Modules/Transports/Delivery", floor: 4,
        uses: ["MeshFoundation", "MeshBase", "MeshBus", "MeshIdentity", "MeshWire", "MeshStorage", "MeshTransport"],
        tests: ["MeshTestSupport", "MeshTesting", "MeshVirtualTime"]),
    Module(
        "MeshLoopbackTransport", "Modules/Transports/Loopback", floor: 5,
        uses: ["MeshBase", "MeshBus", "MeshIdentity", "MeshTransport", "MeshDelivery"],
        tests: []),
    Module(
        "MeshPipeTransport", "Modules/Transports/Pipe", floor: 5,
        uses: ["MeshBase", "MeshBus", "MeshIdentity", "MeshStorage", "MeshTransport", "MeshDelivery"],
        tests: ["MeshWire", "MeshConnection", "MeshFileTransfer", "MeshTestSupport"]),
    Module(
        "MeshScenarioTransport", "Modules/Transports/Scenario", floor: 5,
        uses: [
            "MeshFoundation", "MeshBase", "MeshBus", "MeshIdentity", "MeshStorage", "MeshTransport", "MeshDelivery",
            "MeshVirtualTime",
        ],
        tests: ["MeshTestSupport"]),

    // LocalNetwork: peers that find, know and reach each other
    Module(
        "MeshDiscovery", "Modules/LocalNetwork/Discovery", floor: 4, uses: ["MeshBase", "MeshBus"], needs: [dnssd],
        tests: ["MeshTestSupport"]),
    Module(
        "MeshSecurity", "Modules/LocalNetwork/Security", floor: 4,
        uses: ["MeshFoundation", "MeshBase", "MeshBus", "MeshIdentity", "MeshTransport"],
        needs: [crypto, certificates],
        tests: ["MeshTestSupport"]),
    Module(
        "MeshUDPTransport", "Modules/LocalNetwork/UDP", floor: 5,
        uses: [
            "MeshFoundation", "MeshBase", "MeshBus", "MeshIdentity", "MeshStorage", "MeshTransport", "MeshDelivery",
            "MeshDiscovery", "MeshSecurity",
        ], needs: nio + [tls],
        tests: [
            "MeshWire", "MeshEngine", "MeshSession", "MeshConnection", "MeshRequests", "MeshFileTransfer",
            "MeshLocalNetworkLab", "MeshTesting", "MeshTestSupport",
        ]),

    // Watch: a phone and its watches
    Module(
        "MeshSimulatedWatch", "Modules/Watch/Simulated", floor: 4,
        uses: ["MeshFoundation", "MeshBase", "MeshTransport", "MeshVirtualTime"],
        tests: []),
    Module(
        "MeshWatchConnectivityTransport", "Modules/Watch/Link", floor: 5,
        uses: [
            "MeshBase", "MeshBus", "MeshIdentity", "MeshStorage", "MeshTransport", "MeshDelivery", "MeshSimulatedWatch",
        ],
        tests: ["MeshWire", "MeshEngine", "MeshTesting", "MeshTestSupport"]),
    Module(
        "SessionMeshWatchConnectivity", "Modules/Watch/Face", floor: 6,
        uses: [
            "MeshBase", "MeshBus", "MeshIdentity", "MeshStorage", "MeshTransport", "MeshDelivery", "MeshConnection",
            "MeshRequests", "MeshSharedState", "MeshFileTransfer", "MeshSimulatedWatch",
            "MeshWatchConnectivityTransport",
        ],
        needs: [sqliteStorage],
        tests: ["MeshWire", "MeshLoopbackTransport", "MeshScenarioTransport", "MeshTestSupport", "MeshTesting"]),

    // Relay: sealed messages through brokers and gateways
    Module(
        "MeshRelay", "Modules/Relay/Sealing", floor: 5,
        uses: [
            "MeshFoundation", "MeshBase", "MeshIdentity", "MeshStorage", "MeshTransport", "MeshDelivery",
            "MeshSecurity",
        ],
        needs: [crypto], tests: []),
    Module(
        "MeshMQTTTransport", "Modules/Relay/MQTT", floor: 6,
        uses: ["MeshFoundation", "MeshBase", "MeshBus", "MeshTransport", "MeshSecurity", "MeshRelay"],
        needs: [crypto, mosquitto],
        tests: [
            "MeshIdentity", "MeshStorage", "MeshDelivery", "MeshWire", "MeshTesting", "MeshTestSupport", "MeshMQTTLab",
        ]),
    Module(
        "MeshMailbox", "Modules/Relay/Mailbox", floor: 3, form: .internalLibrary, uses: ["MeshWire"],
        tests: ["MeshBase"]),
    Module(
        "MeshGatewayTransport", "Modules/Relay/Gateway", floor: 6,
        uses: ["MeshBase", "MeshBus", "MeshTransport", "MeshSecurity", "MeshRelay", "MeshMailbox", "MeshWebSocket"],
        needs: webSocket,
        tests: [
            "MeshDelivery", "MeshResumeGateway", "MeshGatewayServer", "MeshGatewayLab", "MeshTesting",
            "MeshTestSupport",
        ]),

    // Resume: streams that clients resume, and the gateways that serve them
    Module(
        "MeshResume", "Modules/Resume/Client", floor: 4, uses: ["MeshBase", "MeshStorage", "MeshWire"],
        tests: ["MeshBrokenRules", "MeshSQLiteStorage", "MeshTestSupport"]),
    Module(
        "MeshResumeGateway", "Modules/Resume/Gateway", floor: 5,
        uses: ["MeshBase", "MeshBus", "MeshResume", "MeshWire", "MeshMailbox"],
        tests: ["MeshVirtualTime"]),
    Module(
        "MeshRedisReplay", "Modules/Resume/Redis", floor: 6,
        uses: ["MeshBase", "MeshBus", "MeshIdentity", "MeshResumeGateway"],
        needs: [hiredis], tests: ["MeshRedisLab"]),
    Module(
        "MeshWebSocket", "Modules/Resume/WebSocket", floor: 4, uses: ["MeshBase"], needs: webSocket,
        tests: [], testsNeed: [nioEmbedded]),
    Module(
        "MeshGatewayServer", "Modules/Resume/Server", floor: 6,
        uses: ["MeshBase", "MeshResume", "MeshMailbox", "MeshResumeGateway", "MeshSecurity", "MeshWebSocket"],
        needs: webSocket,
        tests: ["MeshResumeWebSocket", "MeshTestSupport"]),
    Module(
        "MeshResumeWebSocket", "Modules/Resume/ClientSocket", floor: 6,
        uses: ["MeshBase", "MeshResume", "MeshWebSocket"], needs: webSocket),

    // Features: what an app uses
    Module(
        "MeshConnection", "Modules/Features/Connection", floor: 4,
        uses: ["MeshFoundation", "MeshBase", "MeshIdentity", "MeshWire", "MeshStorage", "MeshTransport"],
        tests: ["MeshLoopbackTransport", "MeshTestSupport"]),
    Module(
        "MeshSeries", "Modules/Features/Series", floor: 4,
        uses: ["MeshFoundation", "MeshIdentity", "MeshWire", "MeshStorage"],
        tests: ["MeshBase"]),
    Module(
        "MeshSession", "Modules/Features/Session", floor: 5,
        uses: [
            "MeshFoundation", "MeshBase", "MeshIdentity", "MeshTimerAnchor", "MeshWire", "MeshEngine", "MeshStorage",
            "MeshTransport", "MeshSeries",
        ],
        tests: ["MeshDelivery", "MeshScenarioTransport", "MeshTestSupport", "GroceriesExample"]),
    Module(
        "MeshDiagnostics", "Modules/Features/Diagnostics", floor: 5,
        uses: ["MeshBase", "MeshBus", "MeshIdentity", "MeshTransport"], needs: [swiftLog, coreMetrics],
        tests: [
            "MeshWire", "MeshStorage", "MeshDelivery", "MeshLoopbackTransport", "MeshScenarioTransport", "MeshTesting",
        ]),
    Module("MeshRegister", "Modules/Features/Register", floor: 2, uses: ["MeshIdentity"]),
    Module(
        "MeshKeySync", "Modules/Features/KeySync", floor: 5,
        uses: [
            "MeshBase", "MeshIdentity", "MeshRegister", "MeshWire", "MeshStorage", "MeshTransport", "MeshConnection",
        ],
        tests: [
            "MeshBrokenRules", "MeshSQLiteStorage", "MeshScenarioTransport", "MeshPipeTransport", "MeshTestSupport",
        ]),
    Module(
        "MeshSharedState", "Modules/Features/SharedState", floor: 5,
        uses: [
            "MeshBase", "MeshIdentity", "MeshRegister", "MeshWire", "MeshStorage", "MeshTransport", "MeshConnection",
        ],
        tests: ["MeshScenarioTransport", "MeshTestSupport"]),
    Module(
        "MeshRequests", "Modules/Features/Requests", floor: 5,
        uses: ["MeshBase", "MeshIdentity", "MeshWire", "MeshStorage", "MeshTransport", "MeshConnection"],
        tests: ["MeshScenarioTransport", "MeshTestSupport"]),
    Module(
        "MeshFileTransfer", "Modules/Features/FileTransfer", floor: 5,
        uses: [
            "MeshFoundation", "MeshBase", "MeshBus", "MeshIdentity", "MeshStorage", "MeshTransport", "MeshConnection",
        ],
        tests: ["MeshScenarioTransport", "MeshTestSupport"]),
    Module(
        "MeshInspector", "Modules/Features/Inspector", floor: 6,
        uses: [
            "MeshBase", "MeshIdentity", "MeshEngine", "MeshTransport", "MeshSession", "MeshDiagnostics",
            "MeshWebSocket",
        ],
        needs: webSocket,
        tests: ["MeshLoopbackTransport", "MeshTestSupport"],
        embeds: ["Page/inspector.html", "Page/inspector.css", "Page/inspector.js"]),

    // Umbrella: all of it in one import
    Module(
        "SessionMesh", "Modules/Umbrella", floor: 6,
        uses: [
            "MeshBus", "MeshIdentity", "MeshTimerAnchor", "MeshWire", "MeshEngine", "MeshStorage", "MeshTransport",
            "MeshDelivery", "MeshDiscovery", "MeshSecurity", "MeshLoopbackTransport", "MeshScenarioTransport",
            "MeshPipeTransport", "MeshUDPTransport", "MeshSeries", "MeshSession", "MeshDiagnostics", "MeshConnection",
            "MeshRequests", "MeshRegister", "MeshSharedState", "MeshKeySync", "MeshFileTransfer",
            "MeshWatchConnectivityTransport",
        ], tests: []),

    // Testing: what authors of plugins test with
    Module(
        "MeshVirtualTime", "Modules/Testing/VirtualTime", floor: 1, form: .internalLibrary,
        tests: ["MeshBase"]),
    Module("MeshFixtures", "Modules/Testing/Fixtures", floor: 5, uses: ["MeshBase", "MeshWire"]),
    Module(
        "MeshTesting", "Modules/Testing/Conformance", floor: 6,
        uses: [
            "MeshFoundation", "MeshBase", "MeshBus", "MeshIdentity", "MeshStorage", "MeshWire", "MeshEngine",
            "MeshTransport", "MeshDelivery", "MeshDiscovery", "MeshFixtures", "MeshResume", "MeshVirtualTime",
        ],
        tests: ["MeshLoopbackTransport", "MeshScenarioTransport", "MeshPipeTransport", "MeshTestSupport"]),

    // Tests: support, simulators and labs
    Module(
        "MeshPrograms", "Tests/Support/Programs", floor: 1, form: .internalLibrary, uses: ["MeshBase"],
        tests: ["MeshTestSupport"]),
    Module(
        "MeshLocalNetworkLab", "Tests/Support/LocalNetwork", floor: 6, form: .internalLibrary,
        uses: [
            "MeshBase", "MeshBus", "MeshTransport", "MeshDelivery", "MeshDiscovery", "MeshSecurity", "MeshUDPTransport",
        ]),
    Module(
        "MeshRedisLab", "Tests/Support/Redis", floor: 7, form: .internalLibrary,
        uses: ["MeshBase", "MeshBus", "MeshPrograms", "MeshResumeGateway", "MeshRedisReplay"]),
    Module(
        "MeshMQTTLab", "Tests/Support/MQTT", floor: 7, form: .internalLibrary,
        uses: [
            "MeshBase", "MeshBus", "MeshPrograms", "MeshTransport", "MeshDelivery", "MeshSecurity", "MeshRelay",
            "MeshMQTTTransport",
        ]),
    Module(
        "MeshGatewayLab", "Tests/Support/Gateway", floor: 7, form: .internalLibrary,
        uses: [
            "MeshBus", "MeshTransport", "MeshDelivery", "MeshSecurity", "MeshRelay", "MeshResumeGateway",
            "MeshGatewayServer", "MeshGatewayTransport",
        ]),
    Module("MeshBrokenRules", "Tests/BrokenRules/Rules", floor: 0, form: .internalLibrary),
    Module(
        "MeshSimulation", "Tests/Simulation", floor: 7, form: .internalLibrary,
        uses: [
            "MeshFoundation", "MeshBase", "MeshBus", "MeshIdentity", "MeshTimerAnchor", "MeshStorage", "MeshWire",
            "MeshEngine", "MeshTransport", "MeshDelivery", "MeshScenarioTransport", "MeshSeries", "MeshSession",
            "MeshConnection", "MeshSharedState", "MeshKeySync", "MeshSimulatedWatch", "MeshResume", "MeshMailbox",
            "MeshResumeGateway", "MeshWatchConnectivityTransport", "MeshDiagnostics", "MeshTesting", "MeshVirtualTime",
            "MeshBrokenRules",
        ],
        tests: []),
    Module("COneThread", "Tests/OneThread", floor: 0, form: .internalLibrary),
    Module("CHeldMemory", "Tests/Support/Memory", floor: 0, form: .internalLibrary),
    Module(
        "MeshTestSupport", "Tests/Support/Kit", floor: 7, form: .internalLibrary,
        uses: ["COneThread", "MeshBase", "MeshWire", "MeshStorage", "MeshTransport", "MeshEngine", "MeshSession"]),
    Module(
        "crash-test", "Tests/Crashes", floor: 7, form: .executable,
        uses: ["MeshBase", "SessionMesh", "MeshSQLiteStorage"], needs: [argumentParser]),

    // Tools: what measures and what is run
    Module("MeshBenchmarks", "Tools/Bench/Contract", floor: 2, uses: ["MeshBase", "MeshBus"]),
    Module("MeshGPX", "Tools/GPX", floor: 7, form: .internalLibrary, tests: []),
    Module(
        "MeshToolOutput", "Tools/Output", floor: 7, form: .internalLibrary,
        uses: ["MeshBase", "MeshBus", "MeshBenchmarks"],
        tests: ["MeshTestSupport"]),
    Module(
        "MeshCodecBenchmark", "Tools/Bench/Codecs", floor: 7, form: .internalLibrary,
        uses: [
            "MeshBase", "MeshBus", "MeshGPX", "MeshToolOutput", "MeshBenchmarks", "MeshIdentity", "MeshWire",
            "MeshFixtures",
        ],
        tests: []),
    Module(
        "MeshBenchmarkCases", "Tools/Bench/Cases", floor: 7, form: .internalLibrary,
        uses: [
            "MeshFoundation", "MeshBase", "MeshBus", "MeshGPX", "MeshToolOutput", "MeshBenchmarks", "MeshIdentity",
            "MeshStorage", "MeshWire", "MeshEngine", "MeshTransport", "MeshDelivery", "MeshScenarioTransport",
            "MeshSeries", "MeshSession", "MeshConnection", "MeshSharedState", "MeshKeySync", "MeshPipeTransport",
            "MeshSimulatedWatch", "MeshWatchConnectivityTransport", "MeshTesting", "MeshSimulation",
        ], tests: ["MeshTestSupport"]),
    Module(
        "MeshNetworkBenchmarks", "Tools/Bench/Network", floor: 7, form: .internalLibrary,
        uses: [
            "MeshBase", "MeshBus", "MeshToolOutput", "MeshBenchmarks", "MeshBenchmarkCases", "MeshTransport",
            "MeshDelivery", "MeshRelay", "SessionMesh", "MeshPrograms", "MeshLocalNetworkLab", "MeshMQTTLab",
            "MeshGatewayLab",
        ], needs: nio + [security, mqttTransport]),
    Module(
        "PluginsToolKit", "Tools/PluginsToolKit", floor: 7,
        uses: [
            "MeshFoundation", "MeshBase", "MeshBus", "MeshToolOutput", "MeshBenchmarks", "MeshIdentity", "MeshStorage",
            "MeshWire", "MeshTransport", "MeshDelivery", "MeshTesting", "MeshResumeGateway", "MeshDiagnostics",
            "MeshSimulation", "MeshCodecBenchmark", "MeshBenchmarkCases",
        ],
        needs: [argumentParser, inspector],
        tests: ["MeshTestSupport", "plugins-tool"], embeds: ["Report/Report.html"]),
    Module(
        "plugins-tool", "Tools/plugins-tool", floor: 7, form: .executable,
        uses: [
            "MeshBus", "PluginsToolKit", "MeshToolOutput", "MeshBenchmarks", "SessionMesh",
            "SessionMeshWatchConnectivity", "MeshLibdeflate", "MeshZstd", "MeshSQLiteStorage", "MeshSimulation",
            "MeshNetworkBenchmarks", "MeshLocalNetworkLab", "MeshResumeGateway", "MeshRedisLab", "MeshMQTTLab",
            "MeshGatewayLab", "WorkoutExample",
        ], needs: nio + [security, mqttTransport]),
    Module(
        "mesh", "Tools/mesh", floor: 7, form: .executable,
        uses: [
            "MeshBase", "MeshBus", "MeshGPX", "MeshToolOutput", "MeshCodecBenchmark", "WorkoutExample",
            "MeshBenchmarks", "MeshIdentity", "MeshTimerAnchor", "MeshWire", "MeshEngine", "MeshStorage",
            "MeshTransport", "MeshDelivery", "MeshDiscovery", "MeshPipeTransport", "MeshSeries", "MeshSession",
            "MeshSQLiteStorage", "MeshResumeGateway", "MeshMailbox", "MeshDiagnostics",
        ],
        needs: [
            argumentParser, crypto, security, udpTransport, redisReplay, mqttTransport, gatewayTransport, relay,
            inspector,
        ] + gatewayServer + webSocket,
        tests: ["MeshTestSupport"]),

    // Examples
    Module(
        "WorkoutExample", "Docs/Examples/Workout", floor: 7, form: .internalLibrary,
        uses: [
            "MeshGPX", "MeshIdentity", "MeshTimerAnchor", "MeshWire", "MeshEngine", "MeshStorage", "MeshTransport",
            "MeshConnection", "MeshSeries", "MeshSession",
        ],
        tests: ["SessionMesh", "MeshTestSupport"]),
    // A package of its own too. Here for tests of what only this package sees: two versions of an app, in virtual time.
    Module(
        "GroceriesExample", "Docs/Examples/Groceries/Sources/GroceryList", floor: 7, form: .internalLibrary,
        uses: ["MeshIdentity", "MeshEngine", "MeshTransport", "MeshSession"]),
]

let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

func targets(of module: Module) -> [Target] {
    let dependencies = module.uses.map { Target.Dependency.byName(name: $0) } + module.needs
    // The floor travels as a define, so that `plugins-tool graph` reads it from `swift package dump-package`.
    let swiftSettings = settings + [.define("FLOOR_\(module.floor)")]
    let target: Target =
        switch module.form {
        case .systemLibrary(let pkgConfig, let apt, let brew):
            .systemLibrary(
                name: module.name, path: module.path, pkgConfig: pkgConfig, providers: [.apt([apt]), .brew([brew])])
        case .executable:
            .executableTarget(
                name: module.name, dependencies: dependencies, path: module.path, swiftSettings: swiftSettings)
        case .library, .internalLibrary:
            .target(
                name: module.name, dependencies: dependencies, path: module.path,
                resources: module.embeds.map { .embedInCode($0) }, swiftSettings: swiftSettings)
        }
    guard let tests = module.tests else { return [target] }
    // Tests mirror what they test (Modules/Core/Bus, Tests/Core/BusTests), and use what it uses.
    let folder = ["Modules/", "Docs/", "Tests/"].reduce(module.path) { path, wing in
        path.hasPrefix(wing) ? String(path.dropFirst(wing.count)) : path
    }
    return [
        target,
        .testTarget(
            name: "\(module.name)Tests",
            dependencies: ([module.name] + module.uses + tests).map { .byName(name: $0) } + module.needs
                + module.testsNeed,
            path: "Tests/\(folder)Tests", swiftSettings: settings + [.define("FLOOR_7")]),
    ]
}

// Fills what every module holds for its peers, so it has no module of its own.
let budgetTests = Target.testTarget(
    name: "MeshBudgetTests",
    dependencies: [
        "CHeldMemory", "MeshBase", "MeshIdentity", "MeshWire", "MeshEngine", "MeshTransport",
        "MeshDelivery", "MeshConnection", "MeshSeries", "MeshSession", "MeshRegister", "MeshKeySync", "MeshSharedState",
        "MeshRequests", "MeshFileTransfer", "MeshDiagnostics", "MeshInspector", "MeshRelay", "MeshMailbox",
        "MeshResumeGateway", security,
    ],
    path: "Tests/Budgets", swiftSettings: settings + [.define("FLOOR_7")])

// The Swift Package Index documents modules as it builds them, so it needs the traits whose packages it can build.
let documentedTraits: Set<String> =
    Context.environment["SPI_GENERATE_DOCS"] == nil ? [] : ["UDP", "SQLite", "WebSocket", "Inspector"]

let package = Package(
    name: "SessionMesh",
    platforms: [.iOS(.v17), .macOS(.v14), .watchOS(.v10), .tvOS(.v17), .visionOS(.v1)],
    products: modules.compactMap { module in
        switch module.form {
        case .library: .library(name: module.name, targets: [module.name])
        case .executable: .executable(name: module.name, targets: [module.name])
        case .systemLibrary, .internalLibrary: nil
        }
    },
    traits: [
        .trait(name: "SwiftLog", description: "MeshDiagnostics forwards diagnostic events to swift-log."),
        .trait(name: "Metrics", description: "MeshDiagnostics counts diagnostic events in swift-metrics."),
        .trait(name: "CommandLineTools", description: "The executables plugins-tool and mesh."),
        .trait(name: "Libdeflate", description: "MeshLibdeflate compresses large bodies faster; needs libdeflate."),
        .trait(name: "Zstd", description: "MeshZstd compresses bodies as zstd between peers with it; needs libzstd."),
        .trait(
            name: "SQLite",
            description: "MeshSQLiteStorage keeps sessions in a file, and WatchConnection its own; needs SQLite."),
        .trait(
            name: "UDP",
            description: "MeshSecurity and MeshUDPTransport: peers on the local network, by SwiftNIO and TLS."),
        .trait(
            name: "SystemDiscovery",
            description: "MeshDiscovery also through the system's responder; on Linux needs Avahi's dns_sd library."),
        .trait(name: "Redis", description: "MeshRedisReplay keeps a gateway's events in Redis; needs hiredis."),
        .trait(
            name: "WebSocket",
            description: "MeshWebSocket, a gateway's server and its client: WebSockets by SwiftNIO, and TLS."),
        .trait(
            name: "Inspector",
            description: "MeshInspector serves a page that shows a session's life, on loopback, by SwiftNIO.",
            enabledTraits: ["WebSocket"]),
        .trait(
            name: "MQTT",
            description: "MeshMQTTTransport: paired peers anywhere, through an MQTT 5 broker; needs libmosquitto."),
        .default(enabledTraits: documentedTraits.union(["SwiftLog", "CommandLineTools"])),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-log", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.5.0"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.8.0"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.0.0"),
        .package(url: "https://github.com/apple/swift-certificates", from: "1.19.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.98.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.36.0"),
    ],
    targets: modules.flatMap(targets(of:)) + [budgetTests],
    swiftLanguageModes: [.v6]
)
