import Foundation
import MeshConnection
import MeshIdentity
import MeshRegister
import MeshScenarioTransport
import MeshStorage
import MeshTransport
import Testing

@testable import MeshSharedState

/// A value with fields other than those of `Settings`.
private struct Workout: Codable, Sendable, Equatable { var laps = 0 }

@MainActor @Suite struct ProblemTests {
    let world = StateWorld()
    var phone: Device { world["phone"] }
    var watch: Device { world["watch"] }

    @Test func `Devices with different merges both report it, and aren't synced until one has the right merge`()
        async throws
    {
        let here = phone.state(Settings(), merge: .fields)
        var there = watch.state(Settings(), merge: .whole)
        try here.update(Settings(volume: 6))
        #expect(await world.run(for: .seconds(2)) { !here.problems.isEmpty && !there.problems.isEmpty })
        #expect(here.problems.map(\.code) == [.differentMerge] && there.problems.map(\.code) == [.differentMerge])
        #expect(
            here.problems.first?.message
                == "the shared state 'Settings' is merged by .whole on 'watch' and by .fields on this device")
        #expect(
            there.problems.first?.message
                == "the shared state 'Settings' is merged by .fields on 'phone' and by .whole on this device")
        #expect(!here.isSynced && !there.isSynced && there.pendingPeerIDs == ["phone"])
        watch.relaunch()
        there = watch.state(Settings(), merge: .fields)
        #expect(await world.run { there.value.volume == 6 && here.isSynced && there.isSynced })
        #expect(here.problems.isEmpty && there.problems.isEmpty)
    }

    @Test func `Devices with two IDs for one state both report it within two seconds, until one has the right ID`()
        async throws
    {
        let here = phone.state(Settings(), id: "settings")
        var there = watch.state(Settings(), id: "preferences")
        await world.run(for: .seconds(3))
        #expect(here.problems.map(\.code) == [.differentID] && there.problems.map(\.code) == [.differentID])
        #expect(
            here.problems.first?.message == "'watch' shares 'preferences' and no 'settings', this device shares "
                + "'settings' and no 'preferences', with the same fields")
        #expect(!here.isSynced && !there.isSynced)
        watch.relaunch()
        there = watch.state(Settings(), id: "settings")
        #expect(await world.run { here.isSynced && there.isSynced && here.problems.isEmpty && there.problems.isEmpty })
        // The phone continues while an app with the wrong id relaunches.
        watch.relaunch()
        there = watch.state(Settings(), id: "preferences")
        #expect(await world.run(for: .seconds(10)) { !here.isSynced && !there.isSynced })
        #expect(here.problems.map(\.code) == [.differentID])
    }

    @Test func `States with other fields, or created shortly after, aren't a problem`() async throws {
        let (settings, workout) = (phone.state(Settings(), id: "settings"), watch.state(Workout(), id: "workout"))
        await world.run(for: .seconds(10))
        #expect(settings.problems.isEmpty && workout.problems.isEmpty)
        let left = phone.state(Workout(), id: "left")
        let right = watch.state(Workout(), id: "right")
        #expect(
            await world.run(for: .milliseconds(1900)) { !left.problems.isEmpty || !right.problems.isEmpty } == false)
        let (leftThere, rightHere) = (watch.state(Workout(), id: "left"), phone.state(Workout(), id: "right"))
        #expect(await world.run(for: .seconds(10)) { !left.problems.isEmpty || !right.problems.isEmpty } == false)
        for state in [left, right, leftThere, rightHere] { #expect(state.isSynced) }
    }

    @Test func `A state long missing on the other device is synced once it is created there`() async throws {
        let left = phone.state(Workout(), id: "left")
        let right = watch.state(Workout(), id: "right")
        #expect(await world.run(for: .seconds(3)) { !left.problems.isEmpty && !right.problems.isEmpty })
        let leftThere = watch.state(Workout(), id: "left")
        #expect(
            await world.run { left.problems.isEmpty && right.problems.isEmpty && leftThere.isSynced && left.isSynced })
    }

    @Test func `Devices in two sessions both report it`() async throws {
        let network = ScenarioNetwork(seed: 1, conditions: .calm)
        let ids = [UUID(), UUID()]
        let states = ids.enumerated().map { index, id in
            let peer = SessionPeer(id: "\(index)", deviceClass: .phone, appInstanceID: "1", topology: .sameHost)
            return SharedState(
                initialValue: Settings(),
                connection: TransportConnection(
                    transport: network.makeTransport(localPeer: peer), sessionID: id, clock: network.clock(of: peer)))
        }
        for _ in 0..<30 {
            for _ in 0..<40 { await Task.yield() }
            network.advance(by: .milliseconds(100))
        }
        for (index, state) in states.enumerated() {
            #expect(state.problems.map(\.code) == [.differentSession])
            #expect(
                state.problems.first?.message == "the shared state 'Settings' is in the session \(ids[1 - index]) on "
                    + "'\(1 - index)' and in \(ids[index]) on this device")
            #expect(!state.isSynced)
        }
    }

    @Test func `A lasting lastSyncError is listed as a problem until it is solved`() async throws {
        let here = phone.state(Settings(), id: "settings")
        let disk = try #require(phone.store)
        disk.setFull(true)
        try here.update(Settings(volume: 6))
        #expect(await world.run(for: .seconds(2)) { here.problems.map(\.code) == [.storeFailed] })
        #expect(
            here.problems.first?.message == "the shared state 'settings' can't be stored: Full: no room"
                || here.problems.first?.message == "the shared state 'settings' can't be stored: No room")
        disk.setFull(false)
        #expect(await world.run(for: .seconds(30)) { here.problems.isEmpty })

        let other = phone.state(Workout(), id: "settings")
        #expect(other.problems.map(\.code) == [.idInUse])
        #expect(throws: ConnectionError.self) { try other.update(Workout(laps: 1)) }

        try here.update(Settings(name: String(repeating: "x", count: 2 << 20)))
        #expect(await world.run(for: .seconds(2)) { here.problems.map(\.code) == [.valueTooLarge] })
        try here.update(Settings())
        #expect(await world.run(for: .seconds(10)) { here.problems.isEmpty })
    }

    @Test func `Both devices list a conflict, even if the winner learns of the loser's change too late`() async throws {
        for merge in [SharedStateMerge<Settings>.whole, .fields] {
            let world = StateWorld()
            let (phone, watch) = (world["phone"], world["watch"])
            let here = phone.state(Settings(), id: "s", merge: merge)
            let there = watch.state(Settings(), id: "s", merge: merge)
            try here.update(Settings(volume: 4))
            #expect(await world.run { here.isSynced && there.isSynced && there.value.volume == 4 })
            world.cut("phone", "watch")
            try there.update(Settings(volume: 1))
            await world.run(for: .seconds(2))
            try here.update(Settings(volume: 2))
            await world.run(for: .seconds(1))
            // The watch gets the phone's change before it has sent anything.
            let message = StateMessage(
                kind: merge.kind, incarnation: here.replica.incarnation, heard: there.replica.incarnation,
                has: here.replica.register.vector,
                base: here.replica.peers["watch"]?.known,
                items: here.replica.register.entries(missingFrom: here.replica.peers["watch"]?.known ?? StateVector()))
            let metadata = SessionSyncMetadata(
                sessionID: phone.connection.sessionID, featureID: "sessionmesh.state/s", sourcePeerID: "phone",
                sequence: 0, causalTimestamp: world.network.now, payloadType: StateMessage.payloadType,
                stamp: phone.connection.stamp())
            there.replica.receive(
                try AnySessionSyncSnapshot(
                    SessionSyncSnapshot(metadata: metadata, revision: 1, state: message, peerSequenceVector: [:])))
            #expect(there.value.volume == 2 && there.conflicts.count == 1)
            world.heal()
            #expect(await world.run(for: .seconds(60)) { here.conflicts.count == 1 && here.isSynced })
            await world.run(for: .seconds(20))
            #expect(here.conflicts == there.conflicts)
            #expect(here.conflicts.first?.lost.peerID == "watch" && here.conflicts.count == 1)
            #expect(here.replica.peers["watch"]?.lost.isEmpty == true)
        }
    }
}
