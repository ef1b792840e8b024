public import MeshBus
import MeshIdentity
import MeshTransport
import MeshWire

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
            requires: ["core.transport", "core.wire"],
            capabilities: ["realtime", "queue", "latest", "request-reply", "broadcast", "discovery"],
            limits: [.pipeFrame])
    }

    public func contribute(to registry: inout ExtensionRegistry) {
        registry.add(TransportFixture(patience: 50_000, makePair: makePair), to: .transportFixtures)
    }

    /// Two ends of a Unix socket pair; the second starts with `connect`.
    private func makePair(_ codec: any PayloadCodec) throws -> TransportPair {
        var ends: [Int32] = [-1, -1]
        #if canImport(Glibc)
            let kind = Int32(SOCK_STREAM.rawValue)
        #else
            let kind = SOCK_STREAM
        #endif
        guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else { throw PipeError.systemCallFailed("socketpair", errno) }
        let transports = try zip(["phone", "watch"], ends).map { name, end in
            try PipeSessionSyncTransport(
                localPeer: SessionPeer(
                    id: name, deviceClass: .unknown, appInstanceID: "fixture", topology: .sameHost),
                input: end, output: end, codec: codec, closesDescriptors: true)
        }
        let (first, second) = (transports[0], transports[1])
        try first.start()
        return TransportPair(
            first: first, second: second, limit: .pipeFrame,
            connect: { try second.start() },
            disconnect: { await second.close() },
            settle: { try? await Task.sleep(for: .microseconds(100)) })
    }
}
