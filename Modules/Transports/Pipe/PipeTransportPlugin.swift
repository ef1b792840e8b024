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

/// Registers MeshPipeTransport.
public struct PipeTransportPlugin: Plugin {
    public init() {}

    public var descriptor: PluginDescriptor {
        PluginDescriptor(
            id: "transport.pipe", kind: .transport, module: "MeshPipeTransport", version: "0.1.0",
            summary: "Two processes over stdin and stdout, a pipe or a Unix socket",
            requires: ["core.transport", "core.wire", "core.delivery"],
            capabilities: ["realtime", "queue", "latest", "request-reply", "broadcast", "discovery"],
            limits: [.pipePacket])
    }

    public func contribute(to registry: inout ExtensionRegistry) {
        registry.add(TransportFixture(patience: 50_000, makePair: makeDescriptorPair), to: .transportFixtures)
        registry.add(TransportFixture(patience: 50_000, makePair: makeSocketPair), to: .transportFixtures)
    }

    /// Two ends of a socket pair.
    private func makeDescriptorPair(_ codec: any PayloadCodec) throws -> TransportPair {
        var ends: [Int32] = [-1, -1]
        #if canImport(Glibc)
            let kind = Int32(SOCK_STREAM.rawValue)
        #else
            let kind = SOCK_STREAM
        #endif
        guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else { throw PipeError.systemCallFailed("socketpair", errno) }
        return try pair(ends.map { .descriptors(input: $0, output: $0, closes: true) }, codec)
    }

    /// Two ends that meet at a path of their own.
    private func makeSocketPair(_ codec: any PayloadCodec) throws -> TransportPair {
        let path = "/tmp/sessionmesh-\(getpid())-\(String(UInt64.random(in: 0 ... .max), radix: 36))"
        return try pair([.meeting(path: path), .meeting(path: path)], codec)
    }

    /// The second end starts with `connect`.
    private func pair(_ endpoints: [PipeEndpoint], _ codec: any PayloadCodec) throws -> TransportPair {
        var configuration = DeliveryConfiguration()
        configuration.codec = codec
        let transports = try zip(["phone", "watch"], endpoints).map { name, endpoint in
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
