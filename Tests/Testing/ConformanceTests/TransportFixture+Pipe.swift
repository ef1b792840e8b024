import Foundation
import MeshBase
import MeshDelivery
import MeshIdentity
import MeshPipeTransport
import MeshTransport

extension TransportFixture {
    enum PipePlace {
        case socketPair, meetingPlace

        fileprivate func endpoints() throws -> [PipeEndpoint] {
            switch self {
            case .socketPair:
                var ends: [Int32] = [-1, -1]
                #if canImport(Glibc)
                    let kind = Int32(SOCK_STREAM.rawValue)
                #else
                    let kind = SOCK_STREAM
                #endif
                guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else {
                    throw SystemCallError("socketpair", errno)
                }
                return ends.map { .descriptors(input: $0, output: $0, closes: true) }
            case .meetingPlace:
                let path = "/tmp/sessionmesh-\(getpid())-\(String(UInt64.random(in: 0 ... .max), radix: 36))"
                return [.meeting(path: path), .meeting(path: path)]
            }
        }
    }

    /// Two pipe transports in real time. `connect` starts the second end.
    static func pipe(_ place: PipePlace) -> TransportFixture {
        TransportFixture(patience: 50_000) { codec in
            var configuration = DeliveryConfiguration()
            configuration.codec = codec
            let transports = try zip(["phone", "watch"], place.endpoints()).map { name, endpoint in
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
