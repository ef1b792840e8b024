import Foundation
import MeshBase
import MeshConnection
import MeshIdentity
import MeshTransport
import Testing

@testable import MeshFileTransfer

@MainActor
@Suite struct ExtremeFileTests {
    private static let words: [UInt64] = [0, 1, 1 << 62, (1 << 63) - 1, 1 << 63, .max - 1, .max]
    private static let counts = [Int.min, -1, 0, 1, 900, 1 << 16, (1 << 16) + 1, .max - 1, .max]

    private static func message(_ random: inout SplitMix64, _ id: UUID) -> FileMessage {
        func word() -> UInt64 { words[Int(random.next() % UInt64(words.count))] }
        func count() -> Int { counts[Int(random.next() % UInt64(counts.count))] }
        switch random.next() % 8 {
        case 0, 1:
            let header = FileHeader(
                id: id, name: "x", byteCount: word(), digest: "d",
                metadata: ["date": .date(Date(timeIntervalSinceReferenceDate: .infinity)), "real": .real(.nan)],
                isCarried: random.next() % 4 == 0)
            return .offer(header, chunkBytesMax: count())
        case 2, 3:
            let ranges = (0..<8).map { _ in FileRange(offset: word(), count: count()) }
            return .ask(id, held: word(), ranges: ranges)
        case 4: return .chunk(id, offset: word(), checksum: word(), bytes: Data([1]))
        case 5: return .held(id)
        case 6: return .missing(id)
        default: return .withdrawn(id)
        }
    }

    @Test(arguments: 1...6 as ClosedRange<UInt64>)
    func `A peer's largest numbers crash nothing, and a file still arrives`(seed: UInt64) async throws {
        var random = SplitMix64(seed: seed)
        let pair = try TestPair(seed: seed)
        // Without limits, sums become largest.
        pair.watch.limits.inboxBytesMax = .max
        pair.watch.limits.freeBytesMin = seed % 2 == 0 ? 16 << 20 : 0
        try pair.phone.launch()
        try pair.watch.launch()
        await pair.settle(steps: 50)
        let held = try pair.makeFile("held", bytes: 200_000, seed: seed)
        let known = try await pair.begin(held, to: pair.watch.peer)
        let ids = [known.id] + (0..<4).map { _ in UUID() }
        for _ in 0..<80 {
            let message = Self.message(&random, ids[Int(random.next() % UInt64(ids.count))])
            let (from, to) = random.next() % 2 == 0 ? (pair.phone, pair.watch) : (pair.watch, pair.phone)
            try? await #require(from.connection).send(message, mode: .reliableEventually, to: to.peer.id)
            await pair.settle(steps: 2)
        }
        let last = try pair.makeFile("last", bytes: 50_000, seed: seed + 100)
        pair.watch.limits = FileTransferLimits()
        let transfer = try await pair.begin(last, to: pair.watch.peer)
        await pair.settle(until: { !transfer.isTransferring })
        #expect(transfer.isCompleted, "seed \(seed): \(String(describing: transfer.error))")
    }
}
