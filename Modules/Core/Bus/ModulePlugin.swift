/// A plugin that only describes a module and contributes nothing.
public struct ModulePlugin: Plugin {
    public let descriptor: PluginDescriptor

    /// Creates a plugin for a module with this description.
    public init(_ descriptor: PluginDescriptor) { self.descriptor = descriptor }
}

// You needn't list these modules: a bus adds those that its plugins require.
extension ModulePlugin {
    /// The modules of this package that contribute nothing. Some are built only with a trait (Package.swift).
    public static let all: [ModulePlugin] = [
        row(
            "core.base", .core, "MeshBase",
            "Locks, topics, private files and payload limits that all other modules use"),
        row(
            "core.bus", .core, "MeshBus",
            "The plugin bus: descriptors, extension points, dependency order", requires: ["core.base"]),
        row(
            "core.identity", .core, "MeshIdentity",
            "Peers, metadata, envelopes, snapshots, and the hybrid logical clock"),
        row(
            "core.timer-anchor", .core, "MeshTimerAnchor",
            "Elapsed time without ticks: anchor and accumulator, pause, resume, step, finish"),
        row(
            "core.wire", .core, "MeshWire",
            "The wire format of values and frames: codecs, zlib, framing, payload limits",
            requires: ["core.identity"], limits: PayloadLimit.known),
        row(
            "core.engine", .core, "MeshEngine",
            "One feature's state as a pure value that every peer reduces identically", requires: ["core.identity"]),
        row(
            "core.transport", .core, "MeshTransport",
            "The contract between sessions and transports: delivery modes, capabilities, streams",
            requires: ["core.identity"]),
        row(
            "core.connection", .core, "MeshConnection",
            "The shared base of requests, shared state and files on one transport",
            requires: ["core.transport", "storage.memory"]),
        row(
            "core.register", .core, "MeshRegister",
            "Last-writer-wins registers with their versions, for shared state and for keys",
            requires: ["core.identity"]),
        row(
            "feature.series", .feature, "MeshSeries",
            "Samples outside a session's event order: compressed, append-only columns of numbers, in the store",
            requires: ["core.wire"]),
        row(
            "feature.session", .feature, "MeshSession",
            "The ready-made session: engine, transport and store in one observable object on the main actor",
            requires: ["core.engine", "core.transport", "core.timer-anchor", "core.wire", "feature.series"]),
        row(
            "feature.requests", .feature, "MeshRequests",
            "Requests to a peer and their replies, handled at most once on any link", requires: ["core.connection"]),
        row(
            "feature.shared-state", .feature, "MeshSharedState",
            "One observable value that is the same on every peer: newest value, newest fields, or merged",
            version: "0.2.0", requires: ["core.connection", "core.register"]),
        row(
            "feature.key-sync", .feature, "MeshKeySync",
            "Stored keys that are the same on every peer, regardless of which starts first",
            requires: ["core.connection", "core.register", "core.wire"]),
        row(
            "diagnostics.inspector", .diagnostics, "MeshInspector",
            "A page on loopback that shows peers, their messages, and their states",
            requires: ["diagnostics.recorder"]),
        row(
            "internet.relay", .feature, "MeshRelay",
            "A link between paired peers through a relay that can't read their messages",
            requires: ["core.delivery", "core.security"]),
        row(
            "internet.websocket", .feature, "MeshWebSocket",
            "WebSocket servers and clients, over TLS or on loopback", requires: ["core.bus"]),
        row(
            "feature.mailbox", .feature, "MeshMailbox",
            "The protocol between a device and the gateway that holds its mailbox", requires: ["core.wire"]),
        row(
            "feature.resume", .feature, "MeshResume",
            "Resumes a server's stream where it stopped, without gaps or duplicates", requires: ["core.bus"]),
        row(
            "internet.resume-websocket", .feature, "MeshResumeWebSocket",
            "Follows a resumable stream over a WebSocket, across reconnects",
            requires: ["feature.resume", "internet.websocket"]),
        row(
            "internet.gateway-server", .feature, "MeshGatewayServer",
            "Serves resumable streams over WebSockets", requires: ["feature.resume-gateway", "internet.websocket"]),
        row(
            "testing.conformance", .testing, "MeshTesting",
            "Conformance rules for transports, codecs and stores, and the sample payloads",
            requires: ["core.transport", "core.wire"]),
        row(
            "testing.simulated-watch", .testing, "MeshSimulatedWatch",
            "A simulated WatchConnectivity: its interface, and a daemon between a phone and a watch",
            requires: ["core.transport"]),
        row(
            "testing.benchmarks", .testing, "MeshBenchmarks",
            "The parts of a benchmark: cases, payloads, rows, a stopwatch", requires: ["core.bus"]),
    ]

    static let byID = Dictionary(uniqueKeysWithValues: all.map { ($0.descriptor.id, $0) })

    private static func row(
        _ id: PluginID, _ kind: PluginKind, _ module: String, _ summary: String, version: String = "0.1.0",
        requires: [PluginID] = [], limits: [PayloadLimit] = []
    ) -> ModulePlugin {
        ModulePlugin(
            PluginDescriptor(
                id: id, kind: kind, module: module, version: version, summary: summary, requires: requires,
                limits: limits
            ))
    }
}
