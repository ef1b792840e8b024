import Foundation
import MeshBase
import MeshConnection
import MeshIdentity
import MeshRegister
import MeshScenarioTransport
import Testing

@testable import MeshSharedState

/// A paired peer sends arbitrary messages to one or to all. Honest peers change values, disconnect, die and return. Once the
/// liar is silent, all honest peers have each other's changes and know it, and nothing has grown beyond its bound.
@MainActor @Suite struct StateLyingTests {
    /// The seeds. For another number of them, set `MESH_STATE_SEEDS=1000`.
    nonisolated static let seeds: [UInt64] = Array(
        1...(UInt64(ProcessInfo.processInfo.environment["MESH_STATE_SEEDS"] ?? "") ?? 8))

    @Test(arguments: seeds)
    func `A lying peer can't keep a whole value from honest ones`(seed: UInt64) async throws {
        try await LyingRun(seed, Settings(), merge: .whole, edit: Self.edit).check()
    }

    @Test(arguments: seeds)
    func `A lying peer can't keep a field from honest ones`(seed: UInt64) async throws {
        try await LyingRun(seed, Settings(), merge: .fields, edit: Self.edit).check()
    }

    @Test(arguments: seeds)
    func `A lying peer can't keep a value for merging from honest ones`(seed: UInt64) async throws {
        try await LyingRun(seed, [Int](), merge: .custom { Array(Set($0 + $1)).sorted() }) { values, number in
            values = (values.suffix(5) + [number]).sorted()
        }.check()
    }

    /// Replaces every field, so that nothing is left of earlier messages.
    private static func edit(_ settings: inout Settings, _ number: Int) {
        settings = Settings(volume: number, name: "\(number)", gain: Double(number), note: "\(number)")
    }
}

@MainActor
private final class LyingRun<State: Codable & Sendable & Equatable> {
    private let seed: UInt64
    private let ids = ["phone", "watch", "tablet"]
    private let initialValue: State
    private let merge: SharedStateMerge<State>
    private let change: (inout State, Int) -> Void
    private let world: StateWorld
    private var random: SplitMix64
    private let liar: StateLiar
    private var states: [SharedState<State>] = []
    private var editCount = 0

    init(
        _ seed: UInt64, _ initialValue: State, merge: SharedStateMerge<State>,
        edit change: @escaping (inout State, Int) -> Void
    ) {
        self.seed = seed
        self.initialValue = initialValue
        self.merge = merge
        self.change = change
        random = SplitMix64(seed: seed)
        world = StateWorld(seed: seed, ["liar"] + ids, conditions: .rough)
        liar = StateLiar(transport: world["liar"].connection.transport, featureID: "sessionmesh.state/s")
    }

    func check() async throws {
        states = ids.map { launch(world[$0]) }
        for _ in 0..<40 {
            try await step()
            world.network.advance(by: .milliseconds(Int64(below(700))))
            await world.rest()
            for state in states { expectBounds(of: state.replica) }
        }
        world.network.conditions = .calm
        world.heal()
        await world.run(for: .seconds(5))
        // The first edit may still be older than the claims that others have received.
        for index in Array(states.indices) + Array(states.indices) {
            try edit(index)
            await world.run(for: .seconds(60)) { isEqual }
        }
        await world.run(for: .seconds(300)) { isEqual }
        #expect(isEqual, "seed \(seed), \(merge.kind): \(states.map(\.value)), \(states.map(\.honestPending))")
        for state in states {
            state.forget(world["liar"].peer)
            expectBounds(of: state.replica)
        }
        await world.run(for: .seconds(20)) { states.allSatisfy { $0.isSynced } }
        #expect(states.allSatisfy { $0.isSynced }, "seed \(seed), \(merge.kind): \(states.map(\.pendingPeerIDs))")
    }

    private var isEqual: Bool { states.allSatisfy { $0.value == states[0].value && $0.honestPending == [] } }

    private func below(_ count: Int) -> Int { Int(random.next() % UInt64(count)) }
    private func oneOf<Element>(_ elements: [Element]) -> Element { elements[below(elements.count)] }
    private func launch(_ device: Device) -> SharedState<State> { device.state(initialValue, id: "s", merge: merge) }

    private func step() async throws {
        let index = below(states.count)
        switch below(20) {
        case 0..<5: try edit(index)
        case 5..<15:
            for _ in 0...below(3) {
                let message = lie()
                try? await liar.say(message, stamp: stamp(), to: oneOf([nil, world[ids[index]].peer]))
            }
        case 15: world.cut(ids[index], ids[(index + 1) % ids.count])
        case 16, 17: world.heal()
        default:
            world[ids[index]].relaunch()
            states[index] = launch(world[ids[index]])
        }
    }

    private func edit(_ index: Int) throws {
        guard states[index].replica.isLoaded else { return }
        editCount += 1
        var value = states[index].value
        change(&value, editCount)
        try states[index].update(value)
    }

    private func expectBounds(of replica: StateReplica<State>) {
        let register = replica.register
        #expect(register.entries("").count <= StateLimits.siblingsMax, "seed \(seed)")
        #expect(register.slots.count <= StateLimits.fieldsMax, "seed \(seed)")
        #expect(register.byteCount <= StateLimits.bytesMax, "seed \(seed)")
        let authors = Set(register.slots.values.joined().map(\.version.author)).count + 1
        for vector in [register.vector, register.forgotten] + replica.peers.values.map(\.known) {
            #expect(vector.stamps.count <= StateLimits.authorsMax + authors, "seed \(seed)")
        }
    }

    // MARK: - Lies

    private func stamp() -> UInt64 {
        let edge: UInt64 = 1 << 62 + 1 << 16
        let known = states.flatMap { $0.replica.register.stamps.map(\.rawValue) }.sorted()
        let honest = known.isEmpty ? 1 : oneOf(known)
        return oneOf([
            UInt64(below(100)), honest, honest + 1, 1 << 62, edge, edge, edge + 1, edge + UInt64(below(8)) << 16,
            1 << 63 - 1, 1 << 63, .max,
        ])
    }

    private func author() -> String {
        oneOf(["liar#1", "liar#2", "x\(below(10_000))#1"] + states.map(\.replica.author))
    }

    private func vector() -> StateVector {
        switch below(5) {
        case 0: return StateVector()
        case 1: return oneOf(states).replica.register.vector
        case 2:
            let stamps = (0..<300).map { _ in ("x\(below(10_000))#1", UInt64(below(1000) + 1)) }
            return StateVector(Dictionary(stamps, uniquingKeysWith: max))
        default:
            var vector = StateVector()
            for _ in 0..<2 { vector.note(StateVersion(stamp(), author())) }
            return vector
        }
    }

    private func item() -> StateMessage.Item {
        let names = ["volume", "name", "gain", "note", "x\(below(1000))"]
        let texts = ["1", "\"a\"", "[1]", #"{"volume":1,"name":"l","gain":1}"#, "no JSON", nil]
        var item = StateMessage.Item(
            merge.kind == .fields ? oneOf(names) : "", below(3) == 0 ? 0 : stamp(), author(), oneOf(texts))
        if below(10) == 0 { item.entry.bytes = Data(repeating: 49, count: 150_000) }
        if below(3) == 0 { item.entry.replaced = HybridTimestamp(rawValue: stamp()) }
        return item
    }

    private func lie() -> StateMessage {
        let items = (0..<oneOf([0, 1, 1, 2, 5, 64])).map { _ in item() }
        var message = StateMessage(
            kind: merge.kind, incarnation: oneOf([7, 8]), has: vector(), base: oneOf([nil, StateVector(), vector()]),
            items: items)
        if below(2) == 0 { for item in items { message.has.note(item.entry.version) } }
        if below(4) == 0 { message.forgotten = vector() }
        if below(4) == 0 { message.fallback = item().entry }
        if below(6) == 0 { message.holds = item().entry.version }
        message.isReport = below(6) == 0
        message.asks = below(3) == 0
        // Most messages have only usable stamps. Otherwise a rejection for the stamp would hide every other effect.
        guard below(8) > 0 else { return message }
        message.has.removeAll { !$0.isUsable }
        message.forgotten.removeAll { !$0.isUsable }
        message.items.removeAll { !$0.entry.version.stamp.isUsable || !$0.entry.replaced.isUsable }
        return message
    }
}
