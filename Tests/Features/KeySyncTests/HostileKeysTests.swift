import Foundation
import MeshIdentity
import MeshRegister
import Testing

@testable import MeshKeySync

/// Paired peers that send keys that no app has registered.
@Suite struct HostileKeysTests {
    private func flood(_ first: Int) -> KeyMessage {
        var message = KeyMessage(nonce: UInt64(first + 1))
        message.items = (first..<first + KeyLimits.listMax).map { number in
            let version = StateVersion(stamp: HybridTimestamp(rawValue: 1 << 20), author: "liar#1")
            return KeyMessage.Item(key: "k\(number)", entry: StateEntry(version: version, bytes: Data([1])))
        }
        return message
    }

    /// Regression: unknown keys took all places, and the app's own key was rejected, even after the peer was forgotten.
    @Test func `However many unknown keys a peer sends, the app's own keys fit, and refusals are bounded`() throws {
        var world = KeyWorld()
        for _ in 0..<2 {
            for index in 0..<4 {
                #expect(world.replicas["phone"]?.receive(flood(index * KeyLimits.listMax), from: "liar") == true)
                let refusals = try #require(world.replicas["phone"]?.peers["liar"]?.refusals)
                #expect(refusals.count <= KeyLimits.listMax && Set(refusals).count == refusals.count)
            }
            #expect(world.replicas["phone"]?.entries.count == KeyLimits.unknownKeysMax)
        }
        for key in ["a", "b"] {
            world.set("phone", key, "own")
            #expect(world.text("phone", key) == "own")
        }
        // A key that the app registers later no longer counts as unknown.
        world.replicas["phone"]?.setRule(KeyRule(), of: "k0")
        #expect(world.replicas["phone"]?.receive(flood(4 * KeyLimits.listMax), from: "liar") == true)
        #expect(world.replicas["phone"]?.entries.count == KeyLimits.unknownKeysMax + 3)
    }

    /// Regression: confirmations grew with each message, and refusals beyond the size of any message.
    @Test func `Refusals and confirmations for a peer fit into messages, whatever the peer sends`() throws {
        var replica = KeyReplica(author: "phone#1")
        replica.setRule(KeyRule(policy: .never), of: "own")
        for number in 0..<1000 {
            let author = String(repeating: "a", count: KeyLimits.authorBytesMax - 4) + "\(1000 + number)"
            let version = StateVersion(stamp: HybridTimestamp(rawValue: UInt64(number + 1)), author: author)
            var message = KeyMessage(nonce: UInt64(number + 1))
            message.items = [KeyMessage.Item(key: "own", entry: StateEntry(version: version, bytes: Data([1])))]
            let isTaken = replica.receive(message, from: "liar")
            #expect(isTaken)
        }
        let peer = try #require(replica.peers["liar"])
        #expect(peer.report == Array(985...1000))
        let bytes = peer.refusals.reduce(0) { $0 + $1.key.utf8.count + $1.version.author.utf8.count }
        #expect(bytes <= KeyLimits.refusedBytesMax && bytes > KeyLimits.refusedBytesMax / 2)
        // After they have been sent, there is space for keys that the peer offers again.
        var reported: [KeyMessage] = []
        while let message = replica.nextMessage(to: "liar") { reported.append(message) }
        #expect(reported.flatMap(\.refused) == peer.refusals && reported.last?.taken == peer.report)
        #expect(reported.count > 1 && reported.dropLast().allSatisfy { $0.taken.isEmpty })
        #expect(reported.allSatisfy { $0.isSound && $0.packed().count <= replica.configuration.messageBytes })
        #expect(replica.peers["liar"]?.refusals.isEmpty == true && replica.peers["liar"]?.report.isEmpty == true)
        for message in reported { replica.undoSend(of: message, to: "liar") }
        #expect(replica.peers["liar"]?.refusals == peer.refusals && replica.peers["liar"]?.report == peer.report)
    }
}
