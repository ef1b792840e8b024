import Foundation
import MeshBus
import MeshConnection
import MeshIdentity
import MeshKeySync
import MeshScenarioTransport
import MeshStorage
import MeshTestSupport
import MeshTransport
import Testing

@testable import PlayerExample

/// The two halves of the example on a simulated network.
@MainActor @Suite struct PlayerTests {
    private let network = ScenarioNetwork(seed: 3, conditions: .calm)
    private let phoneRouter = StorageRouter()
    private let watchRouter = StorageRouter()

    init() {
        OneThread.begin()
        network.provePeers()
    }

    private func launch(_ id: String, _ router: StorageRouter) async throws -> TransportConnection {
        let peer = SessionPeer(id: id, deviceClass: .unknown, appInstanceID: "player", topology: .pairedCompanion)
        let connection = TransportConnection(
            transport: network.makeTransport(localPeer: peer), store: MemoryStore(), clock: network.clock(of: peer))
        return try await PlayerApp.start(connection, router: router)
    }

    /// Virtual time, in small steps, until the condition holds.
    private func run(until condition: () async throws -> Bool) async throws -> Bool {
        for _ in 0..<300 {
            for _ in 0..<40 { await Task.yield() }
            if try await condition() { return true }
            network.advance(by: .milliseconds(100))
        }
        return false
    }

    @Test(arguments: [true, false])
    func `What the phone plays is on the watch, whichever is launched first, and the watch turns the volume`(
        _ isWatchFirst: Bool
    ) async throws {
        let (phone, watch) = (PhonePlayer(router: phoneRouter), WatchPlayer(router: watchRouter))
        var connections: [TransportConnection] = []
        if isWatchFirst { connections.append(try await launch("watch", watchRouter)) }
        connections.append(try await launch("phone", phoneRouter))
        phone.add(Episode(id: "1", title: "On clocks"))
        phone.add(Episode(id: "2", title: "On queues"))
        try await phone.signIn(token: "secret")
        if !isWatchFirst { connections.append(try await launch("watch", watchRouter)) }
        #expect(try await run { watch.title == "On clocks" })
        #expect(try await run { try await watch.arrival().isSignedIn })
        watch.position = 60
        watch.turnCrown(by: 4)
        #expect(try await run { phone.volume == 0.7 && phone.position == 60 })
        try await phone.finishEpisode()
        #expect(try await run { watch.title == "On queues" && watch.position == 0 })
        #expect(try await watchRouter.get(PlayerKeys.history) == nil)
        await phone.sendHistory()
        #expect(try await run { try await watchRouter.get(PlayerKeys.history)?.map(\.id) == ["1"] })
        #expect(await phone.complaint() == nil)
        withExtendedLifetime(connections) {}
    }

    @Test func `What is the phone's own stays there`() async throws {
        try await phoneRouter.set(900, for: PlayerKeys.downloadsMegabytes)
        try await phoneRouter.set(0.25, for: PlayerKeys.volume)
        let connections = [try await launch("phone", phoneRouter), try await launch("watch", watchRouter)]
        #expect(try await run { try await watchRouter.get(PlayerKeys.volume) == 0.25 })
        #expect(try await watchRouter.get(PlayerKeys.downloadsMegabytes) == nil)
        withExtendedLifetime(connections) {}
    }
}
