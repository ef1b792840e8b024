import Foundation
import MeshIdentity
import Testing

@testable import MeshFileTransfer

@Suite struct FileKeyTests {
    @Test(arguments: [
        (0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        (3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (56, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"),
        (112, "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"),
        (1_000_000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"),
    ])
    func `SHA-256 gives the published digests`(count: Int, digest: String) {
        let messages = [
            "", "abc", "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
            String(repeating: "a", count: 1_000_000),
        ]
        let message = messages.first { $0.utf8.count == count } ?? "none"
        #expect(SHA256.hexadecimal(Array(message.utf8)) == digest)
    }

    @Test func `The padding completes a block at every length`() {
        let digests = Set((0...260).map { SHA256.hexadecimal([UInt8](repeating: 0, count: $0)) })
        #expect(digests.count == 261)
        #expect(digests.allSatisfy { $0.utf8.count == 64 })
    }

    /// An attacker's file id that collides with a victim's under the hash that once named folders. MurmurHash3 takes sixteen
    /// bytes at a time, and each of its steps can be inverted.
    private func twin(of id: UUID, from victim: String, for attacker: String) -> UUID {
        let (first, second): (UInt64, UInt64) = (0x87c3_7b91_1142_53d5, 0x4cf5_ad43_2745_937f)
        func rotate(_ word: UInt64, _ bits: UInt64) -> UInt64 { word << bits | word >> (64 - bits) }
        func inverse(_ word: UInt64) -> UInt64 { (0..<6).reduce(word) { found, _ in found &* (2 &- word &* found) } }
        func mix1(_ word: UInt64) -> UInt64 { rotate(word &* first, 31) &* second }
        func mix2(_ word: UInt64) -> UInt64 { rotate(word &* second, 33) &* first }
        func words(_ bytes: [UInt8]) -> (UInt64, UInt64) {
            func word(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) } }
            return (word(bytes[0..<8]), word(bytes[8..<16]))
        }
        func step(_ state: (UInt64, UInt64), _ block: (UInt64, UInt64)) -> (UInt64, UInt64) {
            let h1 = (rotate(state.0 ^ mix1(block.0), 27) &+ state.1) &* 5 &+ 0x52dc_e729
            return (h1, (rotate(state.1 ^ mix2(block.1), 31) &+ h1) &* 5 &+ 0x3849_5ab5)
        }
        let bytes = withUnsafeBytes(of: id.uuid) { Array($0) }
        let goal = step(step((0, 0), words(Array(victim.utf8) + [0])), words(bytes))
        let start = step((0, 0), words(Array(attacker.utf8) + [0]))
        let fifth = inverse(5)
        let mixed1 = rotate((goal.0 &- 0x52dc_e729) &* fifth &- start.1, 37) ^ start.0
        let mixed2 = rotate((goal.1 &- 0x3849_5ab5) &* fifth &- goal.0, 33) ^ start.1
        let block = [
            rotate(mixed1 &* inverse(second), 33) &* inverse(first),
            rotate(mixed2 &* inverse(first), 31) &* inverse(second),
        ]
        let made = block.flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * UInt64($0))) } }
        return UUID(uuid: made.withUnsafeBytes { $0.loadUnaligned(as: uuid_t.self) })
    }

    @Test func `No peer can choose an ID that leads to another peer's file`() {
        for _ in 0..<100 {
            let id = UUID()
            let (victim, attacker) = ("a victim's phone".prefix(15), "attacker's watch".prefix(15))
            let made = twin(of: id, from: String(victim), for: String(attacker))
            #expect(
                FileInbox.formerKey(peerID: String(victim), id: id)
                    == FileInbox.formerKey(peerID: String(attacker), id: made), "the IDs don't collide")
            #expect(
                FileInbox.key(peerID: String(victim), id: id) != FileInbox.key(peerID: String(attacker), id: made))
        }
        // An empty peer id also gives a complete key.
        #expect(FileInbox.key(peerID: "", id: UUID()).utf8.count == 64)
    }
}
