import Foundation
import MeshIdentity
import MeshRegister
import MeshWire
import Testing

@testable import MeshKeySync

@Suite struct LayoutTests {
    private static func name(_ key: String, _ stamp: UInt64, _ author: String = "phone#1") -> KeyMessage.Version {
        .init(key: key, version: StateVersion(stamp: HybridTimestamp(rawValue: stamp), author: author))
    }

    static let full: KeyMessage = {
        var message = KeyMessage(nonce: .max)
        message.digests = (0..<256).map { UInt64($0) &* 0x9e37_79b9_7f4a_7c15 }
        (message.answers, message.compared) = (3, .max)
        (message.isAcknowledgement, message.isPartial) = (true, true)
        message.buckets = [0, 255]
        message.prints = [0, 0xffff_ffff_ffff]
        message.wantedPrints = [7]
        message.versions = [name("a", 5), name("b", 1, "watch#2"), name("", 1 << 50)]
        message.wants = ["ü", ""]
        message.items = [
            .init(key: "gone", entry: StateEntry(version: name("", 9).version)),
            .init(key: "empty", entry: StateEntry(version: name("", 8).version, bytes: Data())),
            .init(key: "full", entry: StateEntry(version: name("", 1 << 60, "x").version, bytes: Data(0...255))),
        ]
        message.piece = .init(name: name("large", 4), offset: 10, total: 20, bytes: Data([1, 2]))
        message.pieceMark = .init(name: name("other", 6), count: 12)
        (message.taken, message.refused, message.remaining) = ([1, .max], [name("no", 2)], 40)
        return message
    }()

    @Test func `A message comes back as it was, through any codec`() throws {
        #expect(Self.full.isSound)
        for codec in ValueTests.codecs {
            for message in [Self.full, KeyMessage(nonce: 0)] {
                #expect(try codec.decode(KeyMessage.self, from: codec.encode(message)) == message)
            }
        }
    }

    @Test func `A message cut anywhere is invalid`() {
        let bytes = Self.full.packed()
        for length in bytes.indices {
            #expect(throws: WireError.self) {
                try Array(bytes.prefix(length)).withUnsafeBytes { try KeyMessage(packed: $0) }
            }
        }
    }

    @Test func `No byte of a message can end the process`() {
        let bytes = Self.full.packed()
        for index in bytes.indices {
            for byte: UInt8 in [0, 1, 0x7f, 0x80, 0xff] {
                var changed = bytes
                changed[index] = byte
                guard let message = try? changed.withUnsafeBytes({ try KeyMessage(packed: $0) }) else { continue }
                var replica = KeyReplica(author: "watch#1")
                replica.meet("phone")
                _ = replica.receive(message, from: "phone")
                while replica.nextMessage(to: "phone") != nil {}
            }
        }
    }

    @Test func `A message with an invalid part is refused as a whole`() {
        var replica = KeyReplica(author: "watch#1")
        func refuses(_ change: (inout KeyMessage) -> Void) -> Bool {
            var message = KeyMessage(nonce: 1)
            message.items = [
                .init(key: "a", entry: StateEntry(version: Self.name("", 1 << 20).version, bytes: Data([1])))
            ]
            change(&message)
            return !replica.receive(message, from: "phone") && replica.entries.isEmpty
        }
        #expect(refuses { $0.buckets = [256] })
        #expect(refuses { $0.digests = [1] })
        #expect(refuses { $0.wants = [String(repeating: "x", count: 401)] })
        #expect(refuses { $0.remaining = -1 })
        #expect(refuses { $0.versions = [Self.name("a", .max)] })
        #expect(refuses { $0.items[0].entry.bytes = Data(count: KeyLimits.valueBytesMax + 1) })
        #expect(refuses { $0.piece = .init(name: Self.name("a", 5), offset: 5, total: 5, bytes: Data([1])) })
        #expect(refuses { $0.piece = .init(name: Self.name("a", 5), offset: 0, total: 5, bytes: Data()) })
        #expect(refuses { $0.piece = .init(name: Self.name("a", 5), offset: 4, total: 5, bytes: Data([1, 2])) })
        #expect(!refuses { _ in })
    }

    @Test func `A stored entry is restored, and a damaged one is reported`() throws {
        for bytes in [nil, Data(), Data(0...200)] {
            let entry = StateEntry(version: Self.name("", 1 << 40).version, bytes: bytes)
            var writer = WireWriter()
            let stored = entry.stored(by: &writer)
            #expect(try StateEntry(stored: stored) == entry)
            for length in stored.indices {
                #expect(throws: WireError.self) { try StateEntry(stored: Array(stored.prefix(length))) }
            }
            #expect(throws: WireError.self) { try StateEntry(stored: [9] + stored.dropFirst()) }
            #expect(throws: WireError.self) { try StateEntry(stored: stored + [0]) }
        }
    }
}
