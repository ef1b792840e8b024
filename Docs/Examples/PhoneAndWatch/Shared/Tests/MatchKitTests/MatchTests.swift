#if !canImport(WatchConnectivity)
    import Foundation
    import MatchKit
    import MeshSimulatedWatch
    import SessionMesh
    import Testing

    /// The match on a simulated phone and watch. Their time is virtual.
    @MainActor @Suite(.timeLimit(.minutes(10))) struct MatchTests {
        private let pair = SimulatedWatchPair(seed: 1)

        private func launch(_ device: SimulatedDevice, _ store: MemoryStore) throws -> Scoreboard {
            let peer = SessionPeer(
                id: device.name, deviceClass: device.isPhone ? .phone : .watch, appInstanceID: UUID().uuidString,
                topology: .pairedCompanion)
            let transport = try WatchConnectivitySessionSyncTransport(
                localPeer: peer, session: try #require(device.relaunch()), clock: pair.clock)
            return Scoreboard(
                SharedSession(
                    Match(), over: transport, store: store, configuration: .init(clock: pair.clock)))
        }

        /// Lets virtual time pass until the condition holds.
        private func wait(until condition: () -> Bool) async throws {
            let limit = pair.elapsed + .seconds(3600)
            while !condition() {
                try #require(pair.elapsed < limit, "a virtual hour has passed")
                pair.advance(by: .milliseconds(20))
                try await Task.sleep(for: .milliseconds(1))
            }
        }

        @Test("Taps on both devices, out of range and through a relaunch, end in one match")
        func tapsEndInOneMatch() async throws {
            let (phoneStore, watchStore) = (MemoryStore(), MemoryStore())
            let phone = try launch(pair.phone, phoneStore)
            var watch = try launch(pair.watch, watchStore)

            phone.startOrPause()
            phone.score(.home)
            try await wait { watch.home == 1 && watch.isRunning }
            watch.score(.away)
            try await wait { phone.away == 1 && phone.otherDevice == "Up to date" }

            pair.watch.isInRange = false
            try await wait { phone.otherDevice == "Away" }
            phone.score(.home)
            watch.takeBack(watch.goals[0])
            #expect((phone.home, watch.home) == (2, 0))
            try await wait { pair.elapsed > .seconds(10) }

            // The system ends the watch app, and the user opens it again.
            watch = try launch(pair.watch, watchStore)
            try await wait { watch.home == 0 && watch.away == 1 }
            pair.watch.isInRange = true
            try await wait { phone.goals == watch.goals && phone.home == 1 }

            try await wait { phone.time > .seconds(15) && phone.time == watch.time }
            phone.newMatch()
            try await wait { watch.goals.isEmpty && watch.time == .zero }
            #expect(phone.problems.isEmpty && watch.problems.isEmpty)
        }
    }
#endif
