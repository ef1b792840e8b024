import Foundation
import MeshBase
import MeshConnection
import MeshIdentity
import MeshRegister
import MeshStorage
import Testing

@testable import MeshSharedState

@MainActor
@Suite("Whatever a peer sends, a state stays small enough to send")
struct HostileSizeTests {
    /// The content of each of a liar's messages, by its number. No message repeats an earlier entry.
    enum Lie: CaseIterable {
        case siblings, heavySiblings, fields, names, authors, forgotten, reports, longAuthors, authorOfABook

        var kind: StateRegister.Kind {
            switch self {
            case .siblings, .heavySiblings: .custom
            case .fields, .names, .forgotten: .fields
            default: .whole
            }
        }

        func message(_ number: Int) -> StateMessage {
            let stamp = UInt64(1 << 40 + number)
            func message(_ items: [StateMessage.Item] = [], has: [String: UInt64] = [:]) -> StateMessage {
                StateMessage(kind: kind, incarnation: 7, has: StateVector(has), base: StateVector(), items: items)
            }
            func many(_ count: Int, of length: Int = 0) -> [String: UInt64] {
                let filler = String(repeating: "x", count: length)
                return Dictionary(
                    uniqueKeysWithValues: (0..<count).map { ("x\(number)-\($0)\(filler)#1", stamp + UInt64($0)) })
            }
            switch self {
            case .siblings: return message((0..<64).map { .init("", stamp, "x\(number)-\($0)#1", "[\($0)]") })
            case .heavySiblings:
                let text = "[\(String(repeating: "1", count: 200_000))]"
                return message([.init("", stamp, "x\(number)#1", text)], has: ["x\(number)#1": stamp])
            case .fields:
                let text = "\"\(String(repeating: "a", count: 300_000))\""
                return message([.init("f\(number)", stamp, "x#1", text)], has: ["x#1": stamp])
            case .names:
                let name = String(repeating: "n", count: 1000)
                let items = (0..<200).map { StateMessage.Item("\(name)\(number)-\($0)", stamp, "x#1", nil) }
                return message(items, has: ["x#1": stamp])
            case .authors: return message(has: many(2000))
            case .forgotten:
                var forgetful = message(has: many(1000))
                forgetful.forgotten = forgetful.has
                return forgetful
            case .reports:
                var report = message(has: many(2000))
                report.isReport = true
                return report
            case .longAuthors: return message(has: many(100, of: 4000))
            case .authorOfABook: return message(has: many(1, of: 300_000))
            }
        }
    }

    private let world = StateWorld(["liar", "phone", "watch"])

    @Test(arguments: Lie.allCases)
    func `A flooding peer's messages are bounded, and other peers' changes are still accepted`(lie: Lie) async throws {
        switch lie.kind {
        case .custom: try await expectBounds(lie, [Int](), .custom { Array(Set($0 + $1)).sorted() }) { $0 + [$1] }
        case .fields: try await expectBounds(lie, Settings(), .fields) { Settings(volume: $1, name: $0.name) }
        case .whole: try await expectBounds(lie, Settings(), .whole) { Settings(volume: $1, name: $0.name) }
        }
    }

    private func expectBounds<State: Codable & Sendable & Equatable>(
        _ lie: Lie, _ initialValue: State, _ merge: SharedStateMerge<State>, _ edit: (State, Int) -> State
    ) async throws {
        let states = ["phone", "watch"].map { world[$0].state(initialValue, id: "s", merge: merge) }
        let liar = StateLiar(transport: world["liar"].connection.transport, featureID: "sessionmesh.state/s")
        await world.run(for: .seconds(2))
        for number in 0..<12 {
            try await liar.say(lie.message(number), to: world["phone"].peer)
            await world.run(for: .milliseconds(300))
            // Checked before an honest change replaces it.
            for state in states { expectBounds(of: state.replica.register, lie) }
            // A change by a peer that may have seen no lie.
            if number == 6 { try states[1].update(edit(states[1].value, number)) }
        }
        await world.run(for: .seconds(10))
        for (number, state) in [(1020, states[0]), (1021, states[1]), (1022, states[0])] {
            try state.update(edit(state.value, number))
            let isEqual = await world.run(for: .seconds(20)) {
                states.allSatisfy { $0.value == states[0].value && $0.honestPending == [] }
            }
            #expect(isEqual, "\(lie) \(number): \(states.map(\.honestPending))")
        }
        for state in states { try expectBounds(of: state.replica, lie) }
        for state in states { state.forget(world["liar"].peer) }
        await world.run(for: .seconds(5))
        #expect(states.allSatisfy { $0.isSynced }, "\(lie)")
    }

    private func expectBounds<State>(of replica: StateReplica<State>, _ lie: Lie) throws {
        let register = replica.register
        expectBounds(of: register, lie)
        for vector in replica.peers.values.map(\.known) { expectBounds(of: vector, lie) }
        let archive = StateArchive(author: replica.author, register: register, peers: replica.peers)
        let count = try archive.encoded().count
        // Fields that this type doesn't know are kept, also in the fallback, in Base64.
        #expect(count <= (2 * StateLimits.bytesMax) * 4 / 3 + 256 << 10, "\(lie)")
    }

    private func expectBounds(of register: StateRegister, _ lie: Lie) {
        #expect(register.entries("").count <= StateLimits.siblingsMax, "\(lie)")
        #expect(register.byteCount <= StateLimits.bytesMax, "\(lie)")
        for vector in [register.vector, register.forgotten] { expectBounds(of: vector, lie) }
    }

    private func expectBounds(of vector: StateVector, _ lie: Lie) {
        #expect(vector.stamps.count <= StateLimits.authorsMax, "\(lie)")
        #expect(vector.stamps.keys.reduce(0) { $0 + $1.utf8.count } <= StateLimits.authorsBytesMax, "\(lie)")
    }

    @Test func `A message that would make the state too large to send is refused and reported`() async throws {
        let phone = world["phone"].state(Settings(), merge: .fields)
        let events = world["phone"].connection.diagnostics.subscribe()
        let liar = StateLiar(transport: world["liar"].connection.transport)
        await world.run(for: .seconds(2))
        for number in 0..<12 {
            try await liar.say(Lie.fields.message(number))
            await world.run(for: .milliseconds(300))
        }
        let error = phone.lastSyncError as? ConnectionError
        guard case .payloadTooLarge(_, StateLimits.bytesMax, "state.bytes") = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        world["phone"].connection.diagnostics.finish()
        var count = 0
        for await event in events {
            if case .deliveryFailed("sessionmesh.state/Settings", .payloadTooLarge, false) = event { count += 1 }
        }
        #expect(count == 1)
    }

    @Test func `A state that an older version let grow too large is read, cut and sent`() async throws {
        var vector = StateVector()
        var items: [StateMessage.Item] = []
        for number in 0..<1000 {
            let item = StateMessage.Item("", UInt64(1 << 40 + number), "x\(number)#1", "[\(number)]")
            items.append(item)
            vector.note(item.entry.version)
        }
        let form = StoredRegister(kind: .custom, vector: vector, slots: ["": items.map(\.entry)], forgotten: vector)
        let register = try JSONDecoder().decode(StateRegister.self, from: JSONEncoder().encode(form))
        #expect(register.entries("").count == 1000)
        var peer = StatePeer()
        peer.known = vector
        try world["phone"].write(
            StateArchive(author: "phone#1", register: register, peers: ["watch": peer]), of: "sessionmesh.state/s")
        let states = ["phone", "watch"].map {
            world[$0].state([Int](), id: "s", merge: .custom { Array(Set($0 + $1)).sorted() })
        }
        #expect(await world.run { states.allSatisfy { $0.value.count == 64 && $0.honestPending == [] } })
        try states[1].update([1])
        #expect(await world.run { states.allSatisfy { $0.value == [1] && $0.honestPending == [] } })
    }

    private struct StoredRegister: Encodable {
        let kind: StateRegister.Kind
        let vector: StateVector
        let slots: [String: [StateEntry]]
        var needsFallback = false
        let forgotten: StateVector
    }
}

@MainActor
@Suite("Entries beyond their sender's vector")
struct UnseenItemTests {
    private func item(_ stamp: UInt64, _ json: String = "[1]") -> StateMessage.Item { .init("", stamp, "x#1", json) }

    @Test(arguments: [StateRegister.Kind.whole, .fields, .custom])
    func `A sender has the entries that it sends, whatever its vector says`(kind: StateRegister.Kind) {
        var register = StateRegister(kind: kind)
        for _ in 0..<5 { _ = register.merge([item(7)], has: StateVector(), base: nil) }
        #expect(register.entries("").count == 1)
        #expect(!register.hasEntries(missingFrom: register.vector))
        var other = StateRegister(kind: kind)
        let forgotten = StateVector(["y#1": 9])
        _ = other.merge([item(7)], has: StateVector(), base: nil, forgotten: forgotten)
        #expect(!other.hasEntries(missingFrom: other.vector))
        // An unchanged value, attributed to an author without changes.
        var third = StateRegister(kind: kind)
        _ = third.merge([item(0), item(7)], has: StateVector(), base: nil)
        _ = third.merge([.init("f", 0, "z#1", "2")], has: StateVector(["x#1": 7]), base: StateVector())
        #expect(!third.hasEntries(missingFrom: third.vector))
    }

    @Test func `A peer that sends entries beyond its vector keeps no peer from being synced`() async throws {
        for merge in [SharedStateMerge<Settings>.whole, .fields, .custom { $1 }] {
            let world = StateWorld(["liar", "phone", "watch"])
            let states = ["phone", "watch"].map { world[$0].state(Settings(), merge: merge) }
            let liar = StateLiar(transport: world["liar"].connection.transport)
            await world.run(for: .seconds(2))
            let value = try JSONEncoder().encode(Settings(volume: 99))
            let fields = merge.kind == .fields ? try JSONFields.split(value) : ["": value]
            for _ in 0..<8 {
                let items = fields.map { StateMessage.Item($0, 1 << 57, "x#1", String(decoding: $1, as: UTF8.self)) }
                try await liar.say(StateMessage(kind: merge.kind, incarnation: 7, has: StateVector(), items: items))
                await world.run(for: .seconds(1))
            }
            let isEqual = await world.run {
                states.allSatisfy { $0.value.volume == 99 && $0.honestPending == [] }
            }
            #expect(isEqual, "\(merge.kind): \(states.map(\.honestPending))")
            #expect(states.allSatisfy { $0.replica.register.slots.values.allSatisfy { $0.count == 1 } })
        }
    }
}

extension Device {
    /// Writes the archive of an earlier process.
    func write(_ archive: StateArchive, of featureID: String = "sessionmesh.state/Settings") throws {
        var batch = StoreBatch()
        batch.set(try archive.encoded(), for: "\(featureID)/\(connection.sessionID.uuidString)")
        try store?.commit(batch)
    }
}
