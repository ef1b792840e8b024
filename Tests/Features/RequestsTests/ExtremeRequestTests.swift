import Foundation
import MeshBase
import MeshConnection
import MeshIdentity
import MeshTransport
import Testing

@testable import MeshRequests

/// Seeded messages with numbers at the limits of arithmetic.
@Suite struct ExtremeRequestTests {
    private static let words: [UInt64] = [0, 1, 1 << 62, (1 << 63) - 1, 1 << 63, .max - 1, .max]
    private static let kinds = [
        "request", "answer", "failure", "handlerFailure", "received", "late", "probe", "echo", "none",
    ]

    private static func message(_ random: inout SplitMix64, id: UUID) throws -> RequestMessage {
        func draw<Value>(_ values: [Value], _ random: inout SplitMix64) -> Value {
            values[Int(random.next() % UInt64(values.count))]
        }
        let kind = draw(kinds, &random)
        let version = draw([Int.min, -1, 0, 1, 1, 1, 1, .max], &random)
        let body = draw(["", "AA==", "e30="], &random)
        var fields = [
            #""version":\#(version)"#, #""kind":"\#(kind)""#, #""id":"\#(id)""#, #""type":"Add""#,
            #""body":"\#(body)""#,
        ]
        for name in ["expiresAt", "stamp", "clock"] where random.next() % 4 > 0 {
            fields.append(#""\#(name)":\#(draw(words, &random))"#)
        }
        if random.next() % 2 == 0 {
            fields.append(#""method":"\#(draw(["message", "userInfo", "context"], &random))""#)
        }
        if random.next() % 2 == 0 { fields.append(#""isFireAndForget":\#(random.next() % 2 == 0)"#) }
        return try JSONDecoder().decode(RequestMessage.self, from: Data("{\(fields.joined(separator: ","))}".utf8))
    }

    @Test(arguments: 1...8 as ClosedRange<UInt64>)
    func `A peer's largest numbers crash nothing, and its next request is answered`(seed: UInt64) async throws {
        var random = SplitMix64(seed: seed)
        let world = World(seed: seed)
        let (here, there) = try await world.pair()
        there.requests.register(Add.self) { $0.left + $0.right }
        let sender = RequestSender(connection: here.connection)
        for _ in 0..<60 {
            // Some messages are about a pending request.
            let pending = Pending {
                try await there.requests.send(
                    Add(left: 1, right: 1), strategy: .liveOnly,
                    retryPolicy: RetryPolicy(maxAttempts: 1, timeout: .seconds(1)))
            }
            await world.run { !there.requests.underWay.isEmpty }
            let id = random.next() % 2 == 0 ? UUID() : there.requests.underWay.first ?? UUID()
            let message = try Self.message(&random, id: id)
            try await world.finish { try await sender.send(message, mode: .reliableEventually, to: watch) }
            _ = try? await world.finish(pending)
        }
        let sum = try await world.finish {
            try await here.requests.send(Add(left: 20, right: 3), strategy: .queueOnly, to: watch)
        }
        #expect(sum == 23, "seed \(seed)")
    }
}
