import Foundation
import MeshIdentity
import MeshStorage
import MeshTransport

/// One launch of a device's lobby.
struct LobbyLaunch: Codable, Hashable, Sendable {
    /// The device's incarnation, the same in all launches with the same store.
    let incarnation: UInt32
    /// The stamp of this launch's notices.
    let stamp: HybridTimestamp

    /// The session ID in this launch's notices, which belong to no session. Each launch numbers its notices from 1, and
    /// the stamp orders launches.
    var scope: UUID {
        func byte(_ index: UInt64) -> UInt8 { UInt8(truncatingIfNeeded: stamp.rawValue >> (8 * index)) }
        return UUID(
            uuid: (0, 0, 0, 0, 0, 0, 0x80, 0, 0x80, byte(6), byte(5), byte(4), byte(3), byte(2), byte(1), byte(0)))
    }
}

/// The values that a lobby keeps through a relaunch.
extension SessionLobby {
    private var invitationKey: String { SessionInvitation.storeKey(of: featureID) }
    private var launchKey: String { "\(featureID)/life" }

    /// Reads the stored invitation and begins the launch. `start` and `open` both call it: without the stored number,
    /// the stored session would supersede one that begins here. A later call reads a store that couldn't be read before.
    func restore() async {
        // `start` and `open` may overlap, but a launch has only one stamp.
        let task =
            restoring
            ?? Task {
                let kept: SessionInvitation? = await storedValue(for: invitationKey)
                if let kept { consider(kept) }
                await beginLaunch()
                restoring = nil
            }
        restoring = task
        await task.value
    }

    func keep(_ invitation: SessionInvitation) async {
        await keep(invitation, for: invitationKey)
    }

    /// Continues under the stored incarnation, so that an invitation that was sent to an earlier launch still names
    /// this device. Gives this launch's notices a higher stamp than any earlier launch's. Otherwise a transport that
    /// keeps the newest notice could hold on to an old one after the clock was set back.
    private func beginLaunch() async {
        let milliseconds = base.now().timeIntervalSince1970 * 1000
        let most = Double(HybridTimestamp.millisecondsMax)
        let now = HybridTimestamp(milliseconds: milliseconds.isFinite ? UInt64(max(0, min(milliseconds, most))) : 0)
        let earlier: LobbyLaunch? = await storedValue(for: launchKey)
        // This launch has begun, and the store has it.
        if let launch, store == nil || earlier == launch { return }
        let next = LobbyLaunch(
            incarnation: earlier?.incarnation ?? incarnation,
            stamp: earlier.map { max(now, $0.stamp.successor) } ?? now)
        await keep(next, for: launchKey)
        incarnation = next.incarnation
        launch = next
    }

    /// Reports an error. `subject` is the feature whose session can't be opened, or the key that can't be kept.
    func fail(_ error: any Error, of subject: String) {
        storeError = error
        board.report(.lobbyFailed(subject, error))
        onChange(.storeFailed)
    }

    private func storedValue<Value: Decodable & Sendable>(for key: String) async -> Value? {
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
