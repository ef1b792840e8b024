import Foundation
import MeshBase
import MeshEngine
import Testing

@testable import MeshSession

/// Invitations from a peer, with every number at its extremes.
@Suite struct InvitationTests {
    private static let now = Date(timeIntervalSince1970: 1_767_225_600)

    private static func invitation(of sessionID: UUID, _ random: inout SplitMix64) -> SessionInvitation {
        let numbers: [UInt32] = [0, 1, 1 << 16, 1 << 31 - 1, 1 << 31, 1 << 31 + 1, .max]
        let seconds: [Double] = [0, -0.0, 1e9, -1e300, 1e300, .greatestFiniteMagnitude, .infinity, .nan]
        func sources(_ count: Int) -> [SessionSource] {
            (0..<count).map { _ in
                let name = ["", "a", "b", "\u{0}", "ü", "\(random.upTo(20))"].randomElement(using: &random) ?? ""
                return SessionSource(peerID: name, incarnation: numbers.randomElement(using: &random) ?? 0)
            }
        }
        return SessionInvitation(
            sessionID: sessionID, number: numbers.randomElement(using: &random) ?? 0,
            openedAt: Date(timeIntervalSince1970: seconds.randomElement(using: &random) ?? 0),
            members: sources(Int(random.upTo(4))), latecomers: sources(Int(random.upTo(4))))
    }

    @Test(arguments: 1...100 as ClosedRange<UInt64>)
    func `A usable invitation stays usable after storage and merging`(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        let sessionID = UUID()
        var usable: [SessionInvitation] = []
        for _ in 0..<200 {
            let invitation = Self.invitation(of: sessionID, &random)
            if invitation.isUsable(at: Self.now) { usable.append(invitation) }
        }
        try #require(usable.count > 1)
        let merged = usable.flatMap { one in usable.filter(one.isOfOneSession).map(one.merged) }
        for invitation in usable + merged {
            let read = try JSONDecoder().decode(SessionInvitation.self, from: JSONEncoder().encode(invitation))
            #expect(read == invitation && read.isUsable(at: Self.now), "seed \(seed): \(invitation)")
        }
    }
}
