public import MeshBus
import MeshDelivery
import MeshIdentity
import MeshTransport

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// Registers MeshPipeTransport over descriptors.
public struct PipeTransportPlugin: Plugin {
    public init() {}

    public var descriptor: PluginDescriptor {
        .pipe("transport.pipe", "Two processes over stdin and stdout, two pipes or a socket pair")
    }

    public func contribute(to registry: inout ExtensionRegistry) {
        registry.add(.pipe(endpoints: Self.socketPair), to: .transportFixtures)
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

/// Registers MeshPipeTransport over Unix sockets.
public struct UnixSocketTransportPlugin: Plugin {
    public init() {}

    public var descriptor: PluginDescriptor {
        .pipe("transport.unix", "Processes that meet at a Unix socket, and meet again")
    }

    public func contribute(to registry: inout ExtensionRegistry) {
        registry.add(.pipe(endpoints: Self.meetingPlace), to: .transportFixtures)
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

extension TransportFixture {
    /// The second end starts with `connect`.
    fileprivate static func pipe(endpoints: @escaping @Sendable () throws -> [PipeEndpoint]) -> TransportFixture {
        TransportFixture(patience: 50_000) { codec in
            var configuration = DeliveryConfiguration()
            configuration.codec = codec
            let transports = try zip(["phone", "watch"], endpoints()).map { name, endpoint in
                try PipeSessionSyncTransport(
                    localPeer: SessionPeer(
                        id: name, deviceClass: .unknown, appInstanceID: "fixture", topology: .sameHost),
                    over: endpoint, configuration: configuration)
            }
            let (first, second) = (transports[0], transports[1])
            try first.start()
            return TransportPair(
                first: first, second: second, limit: configuration.payloadLimit,
                connect: { try second.start() },
                disconnect: { await second.close() },
                settle: { try? await Task.sleep(for: .microseconds(100)) })
        }
    }
}
