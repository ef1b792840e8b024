import Foundation
import MeshBase
import MeshConnection
import MeshIdentity
import MeshRegister
import MeshScenarioTransport
import MeshStorage
import MeshTransport
import Observation
import Testing

@testable import MeshSharedState

/// A value in which not every combination of fields is valid.
struct Bounds: Codable, Sendable, Equatable {
    var low = 0
    var high = 10
    var color = ""

    init(low: Int = 0, high: Int = 10, color: String = "") {
        (self.low, self.high, self.color) = (low, high, color)
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        low = try container.decode(Int.self, forKey: .low)
        high = try container.decode(Int.self, forKey: .high)
        color = try container.decode(String.self, forKey: .color)
        guard low <= high else {
            throw DecodingError.dataCorruptedError(forKey: .low, in: container, debugDescription: "above the other")
        }
    }
}

@MainActor @Suite struct SharedStateTests {
    let world = StateWorld()
    var phone: Device { world["phone"] }
    var watch: Device { world["watch"] }

    @Test func `A change on either device is the value on the other, and both know it`() async throws {
        let here = phone.state(Settings())
        let there = watch.state(Settings())
        try here.update(Settings(volume: 6))
        #expect(here.value.volume == 6)
        #expect(await world.run { there.value.volume == 6 && here.isSynced })
        try there.update(Settings(volume: 7))
        #expect(!there.isSynced)
        #expect(await world.run { here.value.volume == 7 && there.isSynced && here.isSynced })
        #expect(here.conflicts.isEmpty && there.conflicts.isEmpty)
        #expect(here.lastSyncError == nil && there.lastSyncError == nil)
    }

    @Test func `An equal value is no change`() async throws {
        let here = phone.state(Settings())
        let there = watch.state(Settings())
        try there.update(Settings(volume: 8))
        await world.run { here.value.volume == 8 && there.isSynced }
        let stamp = here.replica.register.newest
        try here.update(Settings(volume: 8))
        #expect(here.replica.register.newest == stamp)
        #expect(here.isSynced)
    }

    @Test func `Two peers' changes while disconnected are a conflict that both see`() async throws {
        let here = phone.state(Settings())
        let there = watch.state(Settings())
        await world.run(for: .seconds(2))
        world.cut("phone", "watch")
        try here.update(Settings(volume: 1))
        world.network.advance(by: .seconds(1))
        try there.update(Settings(volume: 2))
        try there.update(Settings(volume: 3))
        await world.run(for: .seconds(2))
        world.heal()
        #expect(await world.run { here.value.volume == 3 && here.isSynced && there.isSynced })
        #expect(there.value.volume == 3)
        for state in [here, there] {
            let conflict = try #require(state.conflicts.first)
            #expect(state.conflicts.count == 1)
            #expect(conflict.field == nil)
            #expect((conflict.kept.peerID, conflict.lost.peerID) == ("watch", "phone"))
            #expect(conflict.lost.json.flatMap { try? JSONDecoder().decode(Settings.self, from: $0) }?.volume == 1)
        }
    }

    @Test func `Changes of different fields at the same time all stay, and of one field the newest does`() async throws
    {
        let here = phone.state(Settings(), merge: .fields)
        let there = watch.state(Settings(), merge: .fields)
        try here.update(Settings(volume: 6, note: "to go"))
        #expect(await world.run { there.value == here.value && here.isSynced })
        world.cut("phone", "watch")
        try here.update(Settings(volume: 7, name: "phone", note: "to go"))
        world.network.advance(by: .seconds(1))
        try there.update(Settings(volume: 6, name: "watch", gain: 2))
        world.heal()
        let expected = Settings(volume: 7, name: "watch", gain: 2, note: nil)
        #expect(await world.run { here.value == expected && there.value == expected })
        #expect(here.conflicts.map(\.field) == ["name"])
        #expect(there.conflicts.map(\.field) == ["name"])
    }

    @Test func `Fields that don't decode together fall back on the newest whole value until a peer repairs them`()
        async throws
    {
        let world = StateWorld(["phone", "watch", "tablet"])
        let states = world.devices.map { $0.state(Bounds(), merge: .fields) }
        try states[0].update(Bounds(color: "red"))
        #expect(await world.run { states.allSatisfy { $0.value.color == "red" && $0.isSynced } })
        world.cut("phone", "watch")
        world.cut("phone", "tablet")
        try states[0].update(Bounds(low: 8, color: "red"))
        world.network.advance(by: .seconds(1))
        try states[1].update(Bounds(high: 5, color: "red"))
        await world.run(for: .seconds(2))
        world.heal()
        let expected = Bounds(high: 5, color: "red")
        #expect(await world.run { states.allSatisfy { $0.value == expected && $0.isSynced } })
        #expect(states.allSatisfy { $0.lastSyncError == nil })
        world.devices[2].relaunch(losing: .store)
        let tablet = world.devices[2].state(Bounds(), merge: .fields)
        #expect(await world.run { tablet.value == expected })
        try states[0].update(Bounds(high: 5, color: "blue"))
        #expect(await world.run { [states[0], states[1], tablet].allSatisfy { $0.value.color == "blue" } })
        #expect([states[0], states[1], tablet].allSatisfy { !$0.replica.register.needsFallback })
    }

    @Test func `A field added by an update starts with its initial value`() async throws {
        struct Older: Codable, Equatable { var volume = 5 }
        let older = phone.state(Older(), id: "s", merge: .fields)
        try older.update(Older(volume: 6))
        await world.run(for: .seconds(1))
        phone.relaunch()
        let newer = phone.state(Settings(), id: "s", merge: .fields)
        await world.rest()
        #expect(newer.value == Settings(volume: 6))
        #expect(newer.lastSyncError == nil)
    }

    @Test func `Fields beyond the maximum are rejected`() throws {
        let state = phone.state([String: Int](), id: "s", merge: .fields)
        let many = Dictionary(uniqueKeysWithValues: (0...StateLimits.fieldsMax).map { ("\($0)", $0) })
        #expect(throws: ConnectionError.self) { try state.update(many) }
        #expect(state.value.isEmpty)
    }

    @Test func `Views are notified of changes`() async throws {
        let here = phone.state(Settings())
        let there = watch.state(Settings())
        let changed = Locked(false)
        withObservationTracking {
            _ = there.value
        } onChange: {
            changed.withLock { $0 = true }
        }
        try here.update(Settings(volume: 6))
        await world.run { there.value.volume == 6 }
        #expect(changed.withLock { $0 })
    }

    @Test func `Values joined by the app's merge stay joined, and removed ones stay removed`() async throws {
        let merge = SharedStateMerge<Set<Int>>.custom { $0.union($1) }
        let here = phone.state([], id: "set", merge: merge)
        let there = watch.state([], id: "set", merge: merge)
        try here.update([1, 2])
        #expect(await world.run { there.value == [1, 2] && here.isSynced })
        world.cut("phone", "watch")
        try here.update([1, 2, 3])
        try there.update([1, 4])
        world.heal()
        #expect(await world.run { here.value == [1, 2, 3, 4] && there.value == [1, 2, 3, 4] })
        try there.update([3])
        #expect(await world.run { here.value == [3] && there.value == [3] })
    }

    @Test func `An unreadable value is left out of a merge and reported`() async throws {
        // An app whose type has changed in the meantime.
        let here = phone.state(0, id: "s", merge: .custom(max))
        let there = watch.state("", id: "s", merge: .custom(max))
        await world.run(for: .seconds(2))
        world.cut("phone", "watch")
        try here.update(1)
        try there.update("x")
        world.heal()
        #expect(await world.run { here.isSynced && there.isSynced })
        #expect((here.value, there.value) == (1, "x"))
        #expect(here.lastSyncError is DecodingError && there.lastSyncError is DecodingError)
        try there.update("y")
        #expect(there.lastSyncError == nil)
        #expect(await world.run { here.isSynced && there.isSynced })
        #expect(here.value == 1)
        #expect(here.lastSyncError is DecodingError)
    }

    @Test func `Two peers that never meet get the value through a third one`() async throws {
        let world = StateWorld(["phone", "watch", "tablet"])
        world.cut("phone", "tablet")
        let states = world.devices.map { $0.state(Settings(), merge: .fields) }
        try states[0].update(Settings(volume: 6))
        #expect(await world.run { states[2].value.volume == 6 })
        try states[2].update(Settings(volume: 6, name: "tablet"))
        #expect(await world.run { states[0].value == Settings(volume: 6, name: "tablet") })
    }

    @Test func `A peer that lost its store gets everything again`() async throws {
        var here = phone.state(Settings(), merge: .fields)
        let there = watch.state(Settings(), merge: .fields)
        try here.update(Settings(volume: 6, name: "x"))
        #expect(await world.run { there.value == here.value && here.isSynced })
        // Its clock also goes back. Its next changes must not be mistaken for changes that were already seen.
        world.network.setClockOffset(.seconds(-3600), of: phone.peer)
        phone.relaunch(losing: .store)
        here = phone.state(Settings(), merge: .fields)
        try here.update(Settings(gain: 3))
        #expect(await world.run { here.value == Settings(volume: 6, name: "x", gain: 1) || here.isSynced })
        await world.run { here.isSynced && there.isSynced }
        #expect(here.value == there.value)
        #expect(here.value.volume == 6)
    }

    @Test func `A peer with an older copy of its store catches up, and its later changes count`() async throws {
        var here = phone.state(Settings(), merge: .fields)
        let there = watch.state(Settings(), merge: .fields)
        try here.update(Settings(volume: 6))
        #expect(await world.run { here.isSynced && there.value.volume == 6 })
        let copy = try #require(phone.store).copied()
        try here.update(Settings(volume: 7, name: "late"))
        #expect(await world.run { here.isSynced && there.value.volume == 7 })
        world.network.setClockOffset(.seconds(-3600), of: phone.peer)
        phone.relaunch(losing: .changesSince(copy))
        here = phone.state(Settings(), merge: .fields)
        await world.rest()
        try here.update(Settings(volume: 6, gain: 2))
        #expect(await world.run { here.value == there.value && here.isSynced && there.isSynced })
        #expect(here.value == Settings(volume: 7, name: "late", gain: 2))
    }

    @Test func `A change made before the store was read is newer than the stored value`() async throws {
        for merge in [SharedStateMerge<Settings>.whole, .fields] {
            let world = StateWorld()
            world.network.setClockOffset(.seconds(7200), of: world["phone"].peer)
            var here = world["phone"].state(Settings(), merge: merge)
            try here.update(Settings(volume: 6, name: "x"))
            await world.run(for: .seconds(1))
            world.network.setClockOffset(.zero, of: world["phone"].peer)
            world["phone"].relaunch()
            here = world["phone"].state(Settings(), merge: merge)
            try here.update(Settings(volume: 9))
            await world.rest()
            #expect(here.value.volume == 9)
            #expect(here.value.name == (merge.kind == .fields ? "x" : "default"))
            let there = world["watch"].state(Settings(), merge: merge)
            #expect(await world.run { there.value == here.value && here.isSynced })
        }
    }

    @Test func `Without an answer a value is sent again, less and less often`() async throws {
        let here = phone.state(Settings())
        let there = watch.state(Settings())
        #expect(await world.run { here.replica.reachable == ["watch"] })
        // No answer comes back, and no device is notified.
        world.network.partition(from: watch.peer, to: phone.peer)
        try here.update(Settings(volume: 6))
        await world.run { there.value.volume == 6 }
        #expect(here.pendingPeerIDs == ["watch"])
        world.heal()
        #expect(await world.run(for: .seconds(60)) { here.isSynced })
        #expect(here.replica.revision < 10)
    }

    @Test func `A retry that is minutes away is brought forward when the peer comes back`() async throws {
        var taken: EnvelopeRoute? = try phone.connection.route(featureID: "sessionmesh.state/settings") { _ in }
        #expect(taken != nil)
        let here = phone.state(Settings(), id: "settings")
        let there = watch.state(Settings(), id: "settings")
        world.cut("phone", "watch")
        await world.run(for: .seconds(530))
        #expect(here.lastSyncError as? ConnectionError == .idInUse(id: "sessionmesh.state/settings"))
        taken = nil
        world.heal()
        #expect(await world.run { here.replica.reachable == ["watch"] })
        #expect(await world.run(for: .seconds(3)) { here.lastSyncError == nil })
        withExtendedLifetime(there) {}
    }

    @Test func `A full store is reported, and the value is still sent`() async throws {
        let here = phone.state(Settings())
        let there = watch.state(Settings())
        await world.run(for: .seconds(2))
        let disk = try #require(phone.store)
        disk.setFull(true)
        try here.update(Settings(volume: 6))
        #expect(await world.run { there.value.volume == 6 })
        #expect((here.lastSyncError as? StorageError)?.code == .full)
        disk.setFull(false)
        #expect(await world.run(for: .seconds(30)) { here.lastSyncError == nil && here.isSynced })
    }

    @Test func `An unreadable store is left unchanged`() async throws {
        var here = phone.state(Settings())
        try here.update(Settings(volume: 6))
        await world.run(for: .seconds(1))
        let disk = try #require(phone.store)
        disk.overwrite(Array(#"{"layout":2}"#.utf8))
        phone.relaunch()
        here = phone.state(Settings())
        await world.rest()
        #expect((here.lastSyncError as? StorageError)?.code == .newerSchema)
        try here.update(Settings(volume: 7))
        let there = watch.state(Settings())
        #expect(await world.run { there.value.volume == 7 })
        #expect(phone.store?.commitCount == 0)
    }

    @Test func `Every stored key starts with the feature's ID`() async throws {
        let here = phone.state(Settings(), id: "mine")
        try here.update(Settings(volume: 6))
        await world.run(for: .seconds(1))
        #expect(phone.store?.keys.isEmpty == false)
        #expect(phone.store?.keys.allSatisfy { $0.hasPrefix("sessionmesh.state/mine/") } == true)
    }

    @Test func `A newer wire version is an incompatible peer`() async throws {
        let here = phone.state(Settings(), id: "s")
        await world.run(for: .seconds(2))
        let metadata = SessionSyncMetadata(
            sessionID: watch.connection.sessionID, featureID: "sessionmesh.state/s", sourcePeerID: "watch", sequence: 0,
            causalTimestamp: world.network.now, payloadType: "sessionmesh.state/2", stamp: watch.connection.stamp())
        let snapshot = SessionSyncSnapshot(metadata: metadata, revision: 1, state: ["a": 1], peerSequenceVector: [:])
        try await watch.connection.transport.sendSnapshot(AnySessionSyncSnapshot(snapshot), mode: .latestSnapshot)
        #expect(await world.run { here.lastSyncError != nil })
        guard case .incompatiblePeer? = here.lastSyncError as? ConnectionError else {
            Issue.record("\(String(describing: here.lastSyncError))")
            return
        }
        try here.update(Settings(volume: 6))
        #expect(here.value.volume == 6)
    }

    @Test func `Peers with different merges report it`() async throws {
        let here = phone.state(Settings(), merge: .fields)
        let there = watch.state(Settings(), merge: .whole)
        try here.update(Settings(volume: 6))
        #expect(await world.run { there.lastSyncError != nil })
        #expect(there.value == Settings())
    }

    @Test func `An app whose update changed its merge continues with its value`() async throws {
        let merges: [SharedStateMerge<Settings>] = [.whole, .fields, .custom { $0.volume > $1.volume ? $0 : $1 }]
        for before in merges {
            for after in merges {
                let world = StateWorld(["phone"])
                var state = world["phone"].state(Settings(), merge: before)
                try state.update(Settings(volume: 6, name: "x"))
                await world.run(for: .seconds(1))
                world["phone"].relaunch()
                state = world["phone"].state(Settings(), merge: after)
                await world.rest()
                #expect(state.value == Settings(volume: 6, name: "x"), "\(before.kind) to \(after.kind)")
                try state.update(Settings(volume: 7, name: "x"))
                #expect(state.value == Settings(volume: 7, name: "x"))
            }
        }
    }

    @Test func `Two objects of one id on a connection are one state`() async throws {
        let first = phone.state(Settings())
        let second = phone.state(Settings())
        try first.update(Settings(volume: 6))
        #expect(second.value.volume == 6)
        let there = watch.state(Settings())
        #expect(await world.run { there.value.volume == 6 && second.isSynced })
    }

    @Test func `More peers than are remembered all get the value, and then traffic ends`() async throws {
        let others = (0...StateLimits.peersMax).map { "peer \($0)" }
        let world = StateWorld(["phone"] + others)
        // Each of them reaches only the phone.
        for (index, peer) in others.enumerated() {
            for other in others[(index + 1)...] { world.cut(peer, other) }
        }
        let here = world["phone"].state(Settings())
        let states = others.map { world[$0].state(Settings()) }
        await world.run(for: .seconds(3))
        try here.update(Settings(volume: 6))
        #expect(await world.run { states.allSatisfy { $0.value.volume == 6 } && here.isSynced })
        let revision = here.replica.revision
        await world.run(for: .seconds(3))
        #expect(here.replica.revision == revision)
    }

    @Test func `A peer that has forgotten authors still gets new changes`() async throws {
        let world = StateWorld(["phone", "watch", "tablet"])
        let here = world["phone"].state(Settings(), id: "s", merge: .fields)
        let there = world["watch"].state(Settings(), id: "s", merge: .fields)
        // A peer claims that it has seen many authors. Then it claims, to the phone only, that it has seen even more.
        func say(_ names: Range<Int>, to ids: [String]) async throws {
            var has = StateVector()
            for name in names {
                has.note(StateVersion(stamp: HybridTimestamp(rawValue: UInt64(name + 1)), author: "x\(name)#1"))
            }
            let message = StateMessage(kind: .fields, incarnation: 1, has: has, base: StateVector())
            let tablet = world["tablet"].connection
            let metadata = SessionSyncMetadata(
                sessionID: tablet.sessionID, featureID: "sessionmesh.state/s", sourcePeerID: "tablet", sequence: 0,
                causalTimestamp: world.network.now, payloadType: StateMessage.payloadType, stamp: tablet.stamp())
            let snapshot = SessionSyncSnapshot(
                metadata: metadata, revision: UInt64(names.upperBound), state: message, peerSequenceVector: [:])
            for id in ids {
                try await tablet.transport.sendSnapshot(
                    AnySessionSyncSnapshot(snapshot), mode: .latestSnapshot, to: world[id].peer)
            }
            await world.run(for: .seconds(2))
        }
        await world.run(for: .seconds(2))
        try await say(0..<200, to: ["phone", "watch"])
        try there.update(Settings(volume: 6))
        #expect(await world.run { here.value.volume == 6 && there.pendingPeerIDs == ["tablet"] })
        try await say(0..<300, to: ["phone"])
        #expect(here.replica.register.vector.stamps["x0#1"] == nil)
        try there.update(Settings(volume: 7))
        #expect(await world.run { here.value.volume == 7 && there.pendingPeerIDs == ["tablet"] })
        #expect(there.replica.revision < 20)
    }

    @Test func `A forgotten peer doesn't delay isSynced, and gets the value when it returns`() async throws {
        let here = phone.state(Settings())
        let there = watch.state(Settings())
        try here.update(Settings(volume: 6))
        #expect(await world.run { here.isSynced && there.isSynced })
        watch.die()
        try here.update(Settings(volume: 7))
        await world.run(for: .seconds(2))
        #expect(here.pendingPeerIDs == ["watch"])
        here.forget(watch.peer)
        await world.rest()
        #expect(here.pendingPeerIDs == [])
        watch.relaunch()
        let again = watch.state(Settings())
        #expect(await world.run(for: .seconds(60)) { again.value.volume == 7 && here.isSynced })
    }

    @Test func `A forgotten peer stays forgotten although the store lists it`() async throws {
        let here = phone.state(Settings())
        let there = watch.state(Settings())
        try here.update(Settings(volume: 6))
        #expect(await world.run { here.isSynced && there.isSynced })
        watch.die()
        try here.update(Settings(volume: 7))
        await world.run(for: .seconds(2))
        #expect(here.pendingPeerIDs == ["watch"])
        phone.relaunch()
        let again = phone.state(Settings())
        // The store hasn't been read yet.
        again.forget(watch.peer)
        #expect(await world.run { again.value.volume == 7 })
        await world.run(for: .seconds(2))
        #expect(again.pendingPeerIDs == [])
    }
}
