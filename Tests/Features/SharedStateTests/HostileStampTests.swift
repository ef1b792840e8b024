import Foundation
import MeshBase
import MeshConnection
import MeshIdentity
import MeshRegister
import MeshScenarioTransport
import MeshStorage
import MeshTransport
import Testing

@testable import MeshSharedState

@MainActor
@Suite("A peer's stamps can't freeze a state")
struct HostileStampTests {
    private nonisolated static let extremes: [UInt64] = [
        .max, .max - 1, 1 << 63, (1 << 63) + 1, (1 << 63) - 1, (1 << 63) - 2, 1 << 62,
    ]

    private nonisolated static let poison: [UInt64] = [.max, .max - 1, (1 << 63) + (1 << 50)]

    /// A message with one author's value under a stamp, and the stamps that this author claims to have seen.
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
        return StateMessage(kind: kind, incarnation: 7, has: vector, items: items)
    }

    @Test(arguments: extremes)
    func `after any stamp the next change wins on every peer`(stamp: UInt64) async throws {
        for merge in [SharedStateMerge<Settings>.whole, .fields, .custom { $1 }] {
            let world = StateWorld(["liar", "phone", "watch"])
            let phone = world["phone"].state(Settings(), merge: merge)
            let watch = world["watch"].state(Settings(), merge: merge)
            let liar = StateLiar(transport: world["liar"].connection.transport)
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
    func `a peer's claims about other peers' changes keep nothing from them`(stamp: UInt64) async throws {
        let world = StateWorld(["liar", "phone", "watch"])
        let phone = world["phone"].state(Settings())
        let watch = world["watch"].state(Settings())
        let liar = StateLiar(transport: world["liar"].connection.transport)
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

    enum Drive: CaseIterable {
        case report, item, twoItems, otherState, flood
    }

    /// The clock of one of three peers is at the edge of the stamps that others follow at once, or beyond it.
    @Test(arguments: Drive.allCases)
    func `A peer's largest stamps, sent to one peer, cut no peer off`(drive: Drive) async throws {
        let edge: UInt64 = (1 << 62) + (1 << 16)
        let world = StateWorld(["liar", "phone", "watch", "tablet"])
        let ids = ["phone", "watch", "tablet"]
        var states = ids.map { world[$0].state(Settings()) }
        let others = ids.map { world[$0].state([Int](), id: "other") }
        let liar = StateLiar(transport: world["liar"].connection.transport)
        await world.run(for: .seconds(2))
        func say(_ message: StateMessage, _ stamp: UInt64 = 0) async throws {
            try await liar.say(message, stamp: stamp, to: world["phone"].peer)
            await world.run(for: .milliseconds(1100))
        }
        switch drive {
        case .report:
            try await say(StateMessage(kind: .whole, incarnation: 7, has: StateVector(), isReport: true), edge)
        case .item: try await say(message(.whole, edge))
        case .twoItems: for step in 0..<2 { try await say(message(.whole, edge + UInt64(step) << 16)) }
        case .otherState:
            liar.featureID = "sessionmesh.state/other"
            for step in 0..<2 {
                let stamp = edge + UInt64(step) << 16
                let item = StateMessage.Item("", stamp, "liar#1", "[\(step)]")
                try await say(
                    StateMessage(kind: .whole, incarnation: 7, has: StateVector(["liar#1": stamp]), items: [item]))
            }
        case .flood:
            for step in 0..<2000 {
                try await liar.say(message(.whole, edge + UInt64(step) << 16), to: world["phone"].peer)
                if step % 100 == 99 { await world.run(for: .milliseconds(100)) }
            }
        }
        for volume in 11...13 {
            try states[0].update(Settings(volume: volume))
            let isEqual = await world.run(for: .seconds(30)) {
                states.allSatisfy { $0.value.volume == volume && $0.honestPending == [] }
            }
            #expect(isEqual, "\(drive) \(volume): \(states.map(\.value.volume))")
            guard volume == 12 else { continue }
            for (place, id) in ids.enumerated() {
                world[id].relaunch()
                states[place] = world[id].state(Settings())
            }
            await world.run(for: .seconds(2))
        }
        for (volume, state) in [(14, states[1]), (15, states[2])] {
            try state.update(Settings(volume: volume))
            #expect(await world.run(for: .seconds(30)) { states.allSatisfy { $0.value.volume == volume } })
        }
        withExtendedLifetime(others) {}
    }

    /// A process lives for less time than it needs to catch up.
    @Test func `A clock's progress survives the process`() async throws {
        let world = StateWorld(["liar", "phone", "watch"])
        let phone = world["phone"].state(Settings())
        var watch = world["watch"].state(Settings())
        let liar = StateLiar(transport: world["liar"].connection.transport)
        await world.run(for: .seconds(2))
        for step in UInt64(1)...30 {
            try await liar.say(message(.whole, (1 << 62) + step << 16), to: world["phone"].peer)
            await world.run(for: .milliseconds(1100))
        }
        try phone.update(Settings(volume: 11))
        for _ in 0..<20 where watch.value.volume != 11 {
            await world.run(for: .seconds(9))
            guard watch.value.volume != 11 else { break }
            world["watch"].relaunch()
            watch = world["watch"].state(Settings())
        }
        #expect(watch.value.volume == 11)
    }

    @Test func `A lost change with a stamp out of range is refused as any other`() async throws {
        let world = StateWorld(["liar", "phone"])
        let phone = world["phone"].state(Settings())
        let liar = StateLiar(transport: world["liar"].connection.transport)
        await world.run(for: .seconds(2))
        var message = try message(.whole, 1 << 40)
        let version = StateVersion(stamp: HybridTimestamp(rawValue: .max), author: "watch#1")
        let entry = StateEntry(version: version, replaced: .zero, bytes: Data("{}".utf8))
        message.lost = [StateMessage.Item(name: StateRegister.wholeName, entry: entry)]
        try await liar.say(message)
        await world.run(for: .seconds(2))
        #expect(phone.value.volume == 5 && phone.conflicts.isEmpty && phone.lastSyncError is ConnectionError)
    }

    @Test func `a stamp far ahead is reported, and one out of range is refused`() async throws {
        let world = StateWorld(["liar", "phone"])
        let phone = world["phone"].state(Settings())
        let events = world["phone"].connection.diagnostics.subscribe()
        let liar = StateLiar(transport: world["liar"].connection.transport)
        await world.run(for: .seconds(2))
        try await liar.say(message(.whole, .max))
        await world.run(for: .seconds(2))
        #expect(phone.value.volume == 5 && phone.lastSyncError is ConnectionError)
        try await liar.say(message(.whole, 1 << 62))
        await world.run(for: .seconds(2))
        #expect(phone.value.volume == 99)
        world["phone"].connection.diagnostics.finish()
        var isReported = false
        for await event in events {
            if case .deliveryFailed("sessionmesh.state/Settings", .remoteError, _) = event { isReported = true }
        }
        #expect(isReported)
    }

    @Test(arguments: poison)
    func `a store poisoned under an earlier version recovers`(stamp: UInt64) async throws {
        let liar = SessionPeer(id: "liar", deviceClass: .phone, appInstanceID: "1", topology: .sameHost)
        for merge in [SharedStateMerge<Settings>.whole, .fields, .custom { $1 }] {
            let world = StateWorld()
            let poisoned = HybridTimestamp(rawValue: stamp)
            for device in world.devices {
                var register = StateRegister(kind: merge.kind)
                let sent = try message(merge.kind, stamp, has: ["\(device.peer.id)#1": stamp])
                _ = register.merge(sent.items, has: sent.has, base: nil)
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
            for state in [phone, watch] { state.forget(liar) }
            await world.run(for: .seconds(5))
            #expect(phone.isSynced && watch.isSynced, "\(merge.kind)")
        }
    }

    /// The false stamp is its author's newest. The author has other changes too, and sent values that were never changed.
    @Test(arguments: poison)
    func `Repaired changes of one author become known to all peers`(stamp: UInt64) async throws {
        let world = StateWorld()
        var register = StateRegister(kind: .fields)
        let items: [StateMessage.Item] = [
            .init("gain", 0, "liar#1", "1"), .init("name", 1 << 50, "liar#1", "\"n\""),
            .init("volume", stamp, "liar#1", "99"), .init("note", 0, "other#1", "\"o\""),
            .init("more", stamp, "other#1", "1"),
        ]
        _ = register.merge(items, has: StateVector(["liar#1": stamp, "other#1": stamp]), base: nil)
        try world["phone"].write(StateArchive(author: "phone#1", register: register, peers: [:]))
        let phone = world["phone"].state(Settings(), merge: .fields)
        let watch = world["watch"].state(Settings(), merge: .fields)
        let healed = Settings(volume: 99, name: "n", gain: 1, note: "o")
        let isEqual = await world.run {
            [phone, watch].allSatisfy { $0.value == healed && $0.isSynced }
        }
        #expect(isEqual, "\(phone.value), \(watch.value), \(phone.pendingPeerIDs), \(watch.pendingPeerIDs)")
        let revision = phone.replica.revision
        await world.run(for: .seconds(60))
        #expect(phone.replica.revision == revision, "nothing is sent forever")
        try watch.update(Settings(volume: 12))
        #expect(await world.run { phone.value.volume == 12 && phone.isSynced && watch.isSynced })
    }
}
