import Foundation
import MeshIdentity
import Testing

@testable import MeshEngine

/// A newcomer waits for a group that a message mentioned, unless the group has no members left.
@Suite struct AwaitedGroupTests {
    /// Two devices that relaunched without their stores. The watch receives a late control of the phone's earlier incarnation.
    private func pair(hearing members: [SessionSource]) throws -> EnginePair {
        var earlier = try EnginePair.joined()
        earlier.phone.tick(at: earlier.now)
        var late: [SessionSyncEnvelope<SessionControl>] = earlier.phone.takeDirectives().outgoing.compactMap {
            if case .control(let control, _) = $0 { control } else { nil }
        }
        #expect(late.count == 1)
        for index in late.indices { late[index].payload.members += members }
        var pair = EnginePair(phone: makeEngine("phone", incarnation: 3), watch: makeEngine("watch", incarnation: 4))
        pair.now = earlier.now + 10
        for control in late { try pair.watch.receiveControl(control, at: pair.now) }
        return pair
    }

    @Test func `A newcomer doesn't wait for a group whose two members both restarted`() throws {
        var pair = try pair(hearing: [])
        for _ in 0..<3 { try pair.exchange() }
        #expect(pair.phone.isSealed && pair.watch.isSealed)
    }

    @Test func `A newcomer waits for a group with another member for a limited time`() throws {
        var pair = try pair(hearing: [SessionSource(peerID: "tablet", incarnation: 9)])
        for _ in 0..<3 { try pair.exchange() }
        #expect(!pair.watch.isSealed)
        for _ in 0..<12 { try pair.exchange() }
        #expect(pair.phone.isSealed && pair.watch.isSealed)
    }
}
