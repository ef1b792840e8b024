import Foundation
import MeshBus
import MeshConnection
import MeshIdentity
import MeshScenarioTransport
import MeshStorage
import MeshTransport
import Testing

@testable import MeshSharedState

@MainActor
@Suite("No stamp of a peer's freezes a state")
struct HostileStampTests {
    private nonisolated static let extremes: [UInt64] = [
        .max, .max - 1, 1 << 63, (1 << 63) + 1, (1 << 63) - 1, (1 << 63) - 2, 1 << 62,
    ]

    private nonisolated static let poison: [UInt64] = [.max, .max - 1, (1 << 63) + (1 << 50)]

    /// A peer that says whatever it likes.
    private struct Liar {
        let transport: any SessionSyncTransport
        var revision: UInt64 = 1

        mutating func say(_ message: StateMessage, stamp: UInt64 = 0) async throws {
            revision += 1
            let metadata = SessionSyncMetadata(
                sessionID: TransportConnection.sharedScope, featureID: "sessionmesh.state/Settings",
                sourcePeerID: transport.localPeer.id, sequence: revision, causalTimestamp: Date(),
                payloadType: StateMessage.payloadType, stamp: HybridTimestamp(rawValue: stamp))
            try await transport.sendSnapshot(
                AnySessionSyncSnapshot(
                    SessionSyncSnapshot(
                        metadata: metadata, revision: revision, state: message, peerSequenceVector: [:])),
                mode: .latestSnapshot, to: nil)
        }
    }

    /// One author's value under a stamp, and what that author claims to have seen.
    private func message(
        _ kind: StateRegister.Kind, _ stamp: UInt64, author: String = "liar#1", has: [String: UInt64] = [:],
        replaced: UInt64 = 0
    ) throws -> StateMessage {
        let version = StateVersion(stamp: HybridTimestamp(rawValue: stamp), author: author)
        var vector = StateVector()
        vector.note(version)
        for (author, stamp) in has {
            vector.note(StateVersion(stamp: HybridTimestamp(rawValue: stamp), author: author))
        }
        let value = try JSONEncoder().encode(Settings(volume: 99))
        let fields = kind == .fields ? try JSONFields.split(value) : [StateRegister.wholeName: value]
        let items = fields.map { name, bytes in
            StateMessage.Item(
                name: name,
                entry: StateEntry(version: version, replaced: HybridTimestamp(rawValue: replaced), bytes: bytes))
        }
        return StateMessage(kind: kind, life: 7, has: vector, items: items)
    }

    @Test(arguments: extremes)
    func `after any stamp the next change wins on every peer`(stamp: UInt64) async throws {
        for merge in [SharedStateMerge<Settings>.whole, .fields, .custom { $1 }] {
            let world = StateWorld(["liar", "phone", "watch"])
            let phone = world["phone"].state(Settings(), merge: merge)
            let watch = world["watch"].state(Settings(), merge: merge)
            var liar = Liar(transport: world["liar"].connection.transport)
            await world.run(for: .seconds(2))
            try await liar.say(message(merge.kind, stamp), stamp: stamp)
            await world.run(for: .seconds(5))
            for (volume, state) in [(11, phone), (12, watch), (13, watch), (14, phone)] {
                try state.update(Settings(volume: volume))
                await world.run(for: .seconds(5))
                #expect(phone.value.volume == volume && watch.value.volume == volume, "\(merge.kind) \(stamp)")
            }
        }
    }

    @Test(arguments: extremes)
    func `what a peer claims to have seen of others keeps nothing from them`(stamp: UInt64) async throws {
        let world = StateWorld(["liar", "phone", "watch"])
        let phone = world["phone"].state(Settings())
        let watch = world["watch"].state(Settings())
        var liar = Liar(transport: world["liar"].connection.transport)
        await world.run(for: .seconds(2))
        let authors = [phone.replica.author, watch.replica.author]
        try await liar.say(message(.whole, 1 << 50, has: [authors[0]: stamp, authors[1]: stamp], replaced: stamp))
        await world.run(for: .seconds(5))
        for (volume, state) in [(11, phone), (12, watch), (13, phone)] {
            try state.update(Settings(volume: volume))
            await world.run(for: .seconds(20))
            #expect(phone.value.volume == volume && watch.value.volume == volume, "\(stamp)")
        }
    }

    @Test func `a stamp far ahead is told, and one that no clock shows is refused`() async throws {
        let world = StateWorld(["liar", "phone"])
        let phone = world["phone"].state(Settings())
        let events = world["phone"].connection.diagnostics.subscribe()
        var liar = Liar(transport: world["liar"].connection.transport)
        await world.run(for: .seconds(2))
        try await liar.say(message(.whole, .max))
        await world.run(for: .seconds(2))
        #expect(phone.value.volume == 5 && phone.lastSyncError is ConnectionError)
        try await liar.say(message(.whole, 1 << 62))
        await world.run(for: .seconds(2))
        #expect(phone.value.volume == 99)
        world["phone"].connection.diagnostics.finish()
        var isTold = false
        for await event in events {
            if case .deliveryFailed("sessionmesh.state/Settings", .remoteError, _) = event { isTold = true }
        }
        #expect(isTold)
    }

    @Test(arguments: poison)
    func `a store that an earlier version let be poisoned heals`(stamp: UInt64) async throws {
        for merge in [SharedStateMerge<Settings>.whole, .fields, .custom { $1 }] {
            let world = StateWorld()
            let poisoned = HybridTimestamp(rawValue: stamp)
            for device in world.devices {
                var register = StateRegister(kind: merge.kind)
                let told = try message(merge.kind, stamp, has: ["\(device.peer.id)#1": stamp])
                _ = register.merge(told.items, has: told.has, base: nil)
                let author = "\(device.peer.id)#1"
                var peer = StatePeer()
                peer.known.note(StateVersion(stamp: poisoned, author: author))
                try device.write(StateArchive(author: author, register: register, peers: ["liar": peer]))
            }
            let phone = world["phone"].state(Settings(), merge: merge)
            let watch = world["watch"].state(Settings(), merge: merge)
            await world.run(for: .seconds(5))
            #expect(phone.value.volume == 99 && watch.value.volume == 99, "the value itself stays")
            for (volume, state) in [(11, phone), (12, watch)] {
                try state.update(Settings(volume: volume))
                await world.run(for: .seconds(5))
                #expect(phone.value.volume == volume && watch.value.volume == volume, "\(merge.kind)")
            }
        }
    }
}

extension Device {
    fileprivate func write(_ archive: StateArchive) throws {
        var batch = StoreBatch()
        batch.set(try archive.encoded(), for: "sessionmesh.state/Settings/\(connection.sessionID.uuidString)")
        try store?.commit(batch)
    }
}
