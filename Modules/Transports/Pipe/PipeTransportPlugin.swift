public import MeshBus
import MeshDelivery

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// A plugin that registers MeshPipeTransport over descriptors.
public struct PipeTransportPlugin: Plugin {
    /// Creates the plugin, which has no settings.
    public init() {}

    public var descriptor: PluginDescriptor {
        .pipe("transport.pipe", "Two processes over stdin and stdout, two pipes or a socket pair")
    }

    public func contribute(to registry: inout ExtensionRegistry) {
        registry.add(.pipe(endpoints: Self.socketPair), to: .linkFixtures)
    }

    private static func socketPair() throws -> [PipeEndpoint] {
        var ends: [Int32] = [-1, -1]
        #if canImport(Glibc)
            let kind = Int32(SOCK_STREAM.rawValue)
        #else
            let kind = SOCK_STREAM
        #endif
        guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else { throw PipeError.systemCallFailed("socketpair", errno) }
        return ends.map { .descriptors(input: $0, output: $0, closes: true) }
    }
}

/// A plugin that registers MeshPipeTransport over Unix sockets.
public struct UnixSocketTransportPlugin: Plugin {
    /// Creates the plugin, which has no settings.
    public init() {}

    public var descriptor: PluginDescriptor {
        .pipe("transport.unix", "Processes that meet at a Unix socket, and meet again")
    }

    public func contribute(to registry: inout ExtensionRegistry) {
        registry.add(.pipe(endpoints: Self.meetingPlace), to: .linkFixtures)
    }

    private static func meetingPlace() -> [PipeEndpoint] {
        let path = "/tmp/sessionmesh-\(getpid())-\(String(UInt64.random(in: 0 ... .max), radix: 36))"
        return [.meeting(path: path), .meeting(path: path)]
    }
}

extension PluginDescriptor {
    fileprivate static func pipe(_ id: PluginID, _ summary: String) -> PluginDescriptor {
        PluginDescriptor(
            id: id, kind: .transport, module: "MeshPipeTransport", version: "0.1.0", summary: summary,
            requires: ["core.transport", "core.delivery"],
            capabilities: ["realtime", "queue", "latest", "request-reply", "broadcast", "discovery"],
            limits: [.pipePacket])
    }
}

extension LinkFixture {
    fileprivate static func pipe(endpoints: @escaping @Sendable () throws -> [PipeEndpoint]) -> LinkFixture {
        LinkFixture(patience: 50_000) { _ in
            LinkGroup(
                try endpoints().map { try PipeLink($0) }, settle: { try? await Task.sleep(for: .microseconds(100)) })
        }
    }
}
