import Foundation
import MeshBase
import MeshIdentity
import MeshRegister
import MeshWire
import Testing

@testable import MeshKeySync

/// State taken over from a peer, with every number at its extremes. The store keeps it, and the next launch reads it unchanged.
@Suite struct StoredExtremesTests {
    private static let numbers: [UInt64] = [
        0, 1, 1 << 20, 1 << 31, 1 << 48, 1 << 53, 1 << 62, 1 << 63 - 1, 1 << 63, .max,
    ]
    private static let names = ["a", "", "ü", "u\u{308}", "\u{0}", "/", String(repeating: "x", count: 400)]

    private static func message(_ random: inout SplitMix64) -> KeyMessage {
        func number() -> UInt64 { numbers.randomElement(using: &random) ?? 0 }
        func name() -> String { names.randomElement(using: &random) ?? "" }
        func count() -> Int { Int(clamping: number()) }
        func version() -> StateVersion { StateVersion(stamp: HybridTimestamp(rawValue: number()), author: name()) }
        func named() -> KeyMessage.Version { .init(key: name(), version: version()) }
        var message = KeyMessage(nonce: number())
        if random.happens(rate: 0.8) {
            let size = [0, 1, 300].randomElement(using: &random) ?? 0
            let bytes = random.happens(rate: 0.2) ? nil : Data(repeating: 7, count: size)
            message.items = [.init(key: name(), entry: StateEntry(version: version(), bytes: bytes))]
        }
        if random.happens(rate: 0.3) {
            message.record = .init(newest: HybridTimestamp(rawValue: number()))
            message.record?.seen.note(version())
        }
        if random.happens(rate: 0.3) {
            message.piece = .init(
                name: named(), offset: random.happens(rate: 0.7) ? 0 : count(), total: count(),
                bytes: Data(repeating: 1, count: 9))
        }
        if random.happens(rate: 0.2) { message.pieceMark = .init(name: named(), count: count()) }
        if random.happens(rate: 0.2) { message.versions = [named()] }
        if random.happens(rate: 0.2) { message.refused = [named()] }
        if random.happens(rate: 0.2) { message.wants = [name()] }
        if random.happens(rate: 0.2) { (message.answers, message.compared) = (number(), number()) }
        if random.happens(rate: 0.2) { (message.taken, message.remaining) = ([number()], count()) }
        return message
    }

    @Test(arguments: 1...300 as ClosedRange<UInt64>)
    func `State received from a peer is stored and read unchanged`(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        var replica = KeyReplica(author: "phone#1")
        replica.setRule(KeyRule(), of: "a")
        replica.meet("liar")
        var takenCount = 0
        for _ in 0..<60 {
            // Encoded and decoded, as it would be in a frame.
            let bytes = Self.message(&random).packed()
            guard let message = try? bytes.withUnsafeBytes({ try KeyMessage(packed: $0) }) else { continue }
            if replica.receive(message, from: "liar") { takenCount += 1 }
            while replica.nextMessage(to: "liar") != nil {}
        }
        try #require(takenCount > 0)
        var writer = WireWriter()
        for (name, entry) in replica.entries {
            #expect(try StateEntry(stored: entry.stored(by: &writer)) == entry, "'\(name)', seed \(seed)")
        }
        #expect(try StateVector(stored: replica.seen.stored()) == replica.seen, "seed \(seed)")
        let kept = try #require(replica.storedPeer("liar"))
        var read = try StoredPeer(stored: kept.stored())
        if let download = kept.download { read.download = .init(stored: [download.stored(from: 0)]) }
        #expect(read == kept, "seed \(seed)")
    }
}
