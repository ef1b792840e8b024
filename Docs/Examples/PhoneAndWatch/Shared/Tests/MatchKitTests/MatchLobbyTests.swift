import MatchKit
import SessionMesh
import Testing

@MainActor @Suite(.timeLimit(.minutes(10))) struct MatchLobbyTests {
    @Test("The watch follows each match that the phone opens")
    func watchFollows() async throws {
        let network = ScenarioNetwork(seed: 1)
        func lobby(_ name: String) -> MatchLobby {
            let peer = SessionPeer(id: name, deviceClass: .unknown, appInstanceID: name, topology: .pairedCompanion)
            return MatchLobby(
                named: name, over: network.makeTransport(localPeer: peer), configuration: .init(clock: network.clock))
        }
        let (phone, watch) = (lobby("phone"), lobby("watch"))
        await phone.start()
        await watch.start()
        try await network.run { phone.devices.contains(where: \.isReachable) }

        await phone.open()
        try await network.run { watch.session != nil }
        watch.session?.send { .goal(.away, at: $0) }
        try await network.run { phone.session?.state.goals.count == 1 }

        let first = phone.session?.sessionID
        await phone.open()
        try await network.run { watch.session?.sessionID != first && watch.session?.state.goals.isEmpty == true }
        #expect(phone.session?.sessionID == watch.session?.sessionID)
        #expect(phone.problems.isEmpty && watch.problems.isEmpty)
        await phone.stop()
        await watch.stop()
    }
}
