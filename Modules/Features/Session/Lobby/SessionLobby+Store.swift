import Foundation
import MeshIdentity
import MeshStorage
import MeshTransport

/// One launch of a device's lobby.
struct LobbyLife: Codable, Hashable, Sendable {
    /// The same over all launches that have the store.
    let incarnation: UInt32
    /// Of its notices.
    let stamp: HybridTimestamp

    /// Notices belong to no session: each launch counts its own from 1, and between two launches the stamp decides.
    var scope: UUID {
        func byte(_ index: UInt64) -> UInt8 { UInt8(truncatingIfNeeded: stamp.rawValue >> (8 * index)) }
        return UUID(
            uuid: (0, 0, 0, 0, 0, 0, 0x80, 0, 0x80, byte(6), byte(5), byte(4), byte(3), byte(2), byte(1), byte(0)))
    }
}

/// What a lobby keeps through a relaunch.
extension SessionLobby {
    private var invitationKey: String { "\(featureID)/invitation" }
    private var lifeKey: String { "\(featureID)/life" }

    func keptInvitation() async -> SessionInvitation? { await kept(invitationKey) }

    func keep(_ invitation: SessionInvitation) async {
        await keep(invitation, for: invitationKey)
    }

    /// Goes on under the incarnation that the store has: who was named in an invitation and is launched anew before it has
    /// heard of that is the one that was named. And gives this life's notices a stamp greater than that of every earlier
    /// life: a transport that keeps the newest would else hold on to an old one where the clock has gone back.
    func beginLife() async {
        let milliseconds = base.now().timeIntervalSince1970 * 1000
        let most = Double(HybridTimestamp.millisecondsMax)
        let now = HybridTimestamp(milliseconds: milliseconds.isFinite ? UInt64(max(0, min(milliseconds, most))) : 0)
        let earlier: LobbyLife? = await kept(lifeKey)
        let next = LobbyLife(
            incarnation: earlier?.incarnation ?? incarnation,
            stamp: earlier.map { max(now, $0.stamp.successor) } ?? now)
        await keep(next, for: lifeKey)
        incarnation = next.incarnation
        life = next
    }

    /// - Parameter subject: what can't be opened or kept.
    func fail(_ error: any Error, of subject: String) {
        storeError = error
        board.report(.lobbyFailed(subject, error))
        onChange(.storeFailed)
    }

    private func kept<Value: Decodable & Sendable>(_ key: String) async -> Value? {
        guard let store = store else { return nil }
        do {
            let bytes = try await Task.detached { try store.value(for: key) }.value
            return try bytes.map { try JSONDecoder().decode(Value.self, from: Data($0)) }
        } catch {
            fail(error, of: key)
            return nil
        }
    }

    private func keep(_ value: some Encodable, for key: String) async {
        guard let store = store else { return }
        do {
            var batch = StoreBatch()
            batch.set(Array(try JSONEncoder().encode(value)), for: key)
            try await Task.detached { [batch] in try store.commit(batch) }.value
            board.solve(.storeFailed, of: key)
        } catch {
            fail(error, of: key)
        }
    }
}
