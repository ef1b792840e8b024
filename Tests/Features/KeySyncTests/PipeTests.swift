import Foundation
import MeshBase
import MeshConnection
import MeshIdentity
import MeshPipeTransport
import MeshTransport
import Testing

@testable import MeshKeySync

/// Routers over real pipes with less capacity than the messages need. The routers wait for each other, and finish.
@Suite(.timeLimit(.minutes(10)))
struct PipeTests {
    @Test(arguments: [1, 300, 10_000])
    func `Both sides' keys arrive over a pair of pipes, however many`(_ count: Int) async throws {
        let transports = try Self.transports()
        let routers = [StorageRouter(), StorageRouter()]
        for (index, router) in routers.enumerated() { try await router.commit(Self.batch(count, of: index)) }
        for (transport, router) in zip(transports, routers) {
            try transport.start()
            try await router.attach(to: TransportConnection(transport: transport))
        }
        for (index, router) in routers.enumerated() {
            for await statuses in await router.statuses() {
                guard statuses.count == 2 * count, statuses.values.allSatisfy({ $0 == .synced }) else { continue }
                break
            }
            let last = try await router.get(Self.key(count - 1, of: 1 - index))
            #expect(last == Self.text(count - 1))
        }
        for router in routers { await router.detach() }
        for transport in transports { await transport.close() }
    }

    private static func transports() throws -> [PipeSessionSyncTransport] {
        let pipes = [Pipe(), Pipe()]
        return try (0..<2).map { index in
            let (input, output) = (pipes[index].fileHandleForReading, pipes[1 - index].fileHandleForWriting)
            return try PipeSessionSyncTransport(
                localPeer: SessionPeer(
                    id: "peer \(index)", deviceClass: .unknown, appInstanceID: "\(index)", topology: .sameHost),
                input: dup(input.fileDescriptor), output: dup(output.fileDescriptor), closesDescriptors: true)
        }
    }

    private static func key(_ number: Int, of side: Int) -> StorageKey<String> { StorageKey("\(side).\(number)") }

    private static func text(_ number: Int) -> String { String(repeating: "\(number) ", count: 5 + number % 30) }

    private static func batch(_ count: Int, of side: Int) throws -> KeyBatch {
        var batch = KeyBatch()
        for number in 0..<count { try batch.set(text(number), for: key(number, of: side)) }
        return batch
    }
}
