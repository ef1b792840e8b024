import MeshConnection
import MeshKeySync
import MeshSimulatedWatch
import MeshStorage
import Player
import Testing

/// Tests with both halves on a simulated phone and watch. Their time is virtual and passes while a test waits. The limit ends
/// a test whose condition never holds.
@MainActor @Suite(.timeLimit(.minutes(10))) struct PlayerTests {
    private let pair = SimulatedWatchPair(seed: 3)
    private let phoneRouter = StorageRouter()
    private let watchRouter = StorageRouter()

    private func launch(_ device: SimulatedDevice, _ router: StorageRouter) async throws -> TransportConnection {
        device.launch()
        return try await device.run {
            Task {
                try await PlayerApp.launch(
                    isWatch: !device.isPhone, store: MemoryStore(), clock: pair.clock, router: router)
            }
        }.value
    }

    private func wait(until condition: () async throws -> Bool) async throws {
        while try await !condition() {
            pair.advance(by: .milliseconds(20))
            try await Task.sleep(for: .milliseconds(1))
        }
    }

    @Test(arguments: [true, false])
    func `What the phone plays is on the watch, whichever is launched first, and the watch turns the volume`(
        _ isWatchFirst: Bool
    ) async throws {
        let (phone, watch) = (PhonePlayer(router: phoneRouter), WatchPlayer(router: watchRouter))
        var connections: [TransportConnection] = []
        if isWatchFirst { connections.append(try await launch(pair.watch, watchRouter)) }
        connections.append(try await launch(pair.phone, phoneRouter))
        phone.add(Episode(id: "1", title: "On clocks"))
        phone.add(Episode(id: "2", title: "On queues"))
        try await phone.signIn(token: "secret")
        if !isWatchFirst { connections.append(try await launch(pair.watch, watchRouter)) }
        try await wait { watch.title == "On clocks" }
        try await wait { try await watch.arrival().isSignedIn }
        watch.position = 60
        watch.turnCrown(by: 4)
        try await wait { phone.volume == 0.7 && phone.position == 60 }
        try await phone.finishEpisode()
        try await wait { watch.title == "On queues" && watch.position == 0 }
        #expect(try await watchRouter.get(PlayerKeys.history) == nil)
        await phone.sendHistory()
        try await wait { try await watchRouter.get(PlayerKeys.history)?.map(\.id) == ["1"] }
        #expect(phone.complaints.isEmpty)
        withExtendedLifetime(connections) {}
    }

    @Test func `What is the phone's own stays there`() async throws {
        try await phoneRouter.set(900, for: PlayerKeys.downloadsMegabytes)
        try await phoneRouter.set(0.25, for: PlayerKeys.volume)
        let connections = [try await launch(pair.phone, phoneRouter), try await launch(pair.watch, watchRouter)]
        try await wait { try await watchRouter.get(PlayerKeys.volume) == 0.25 }
        #expect(try await watchRouter.get(PlayerKeys.downloadsMegabytes) == nil)
        withExtendedLifetime(connections) {}
    }
}
