import Foundation
import MeshBase
import MeshIdentity
import MeshRegister
import MeshScenarioTransport
import Testing

@testable import MeshSharedState

/// Peers change values, disconnect, die, and return with or without their stores, on a network that loses, repeats and
/// reorders. In the end all have the same value, as the rule requires.
@MainActor @Suite struct StatePropertyTests {
    struct Run: Sendable, CustomTestStringConvertible {
        let seed: UInt64
        let ids: [String]
        let losesStores: Bool

        var testDescription: String { "seed \(seed), \(ids.count) peers\(losesStores ? ", stores get lost" : "")" }
    }

    /// The last three once ended with entries that no peer's vector covered.
    nonisolated static let runs: [Run] = ((1...21) + [54, 345, 1146]).map { seed in
        Run(
            seed: seed, ids: seed % 2 == 0 ? ["phone", "watch"] : ["phone", "watch", "tablet"],
            losesStores: seed % 3 == 0)
    }

    @Test(arguments: runs)
    func `Whole values end on the newest`(run: Run) async throws {
        let result = try await StateRun(run, Settings(), merge: .whole) { settings, random in
            settings.volume = Int(random.next() % 1000)
        }.result()
        let newest = try #require(result.surviving.map(\.version).max(), "\(run)")
        for state in result.states {
            #expect(state.value == result.states[0].value, "\(run)")
            let version = try #require(state.replica.register.newest, "\(run)")
            #expect(version >= newest, "\(run): \(version) rather than \(newest)")
            #expect(result.edits.contains { $0.version == version && $0.value == state.value }, "\(run)")
        }
    }

    @Test(arguments: runs)
    func `Each field ends on its newest`(run: Run) async throws {
        let result = try await StateRun(run, Settings(), merge: .fields) { settings, random in
            let number = random.next() % 1000
            if random.next() % 2 == 0 { settings.volume = Int(number) }
            if random.next() % 3 == 0 { settings.name = "\(number)" }
            if random.next() % 3 == 0 { settings.note = number % 2 == 0 ? nil : "\(number)" }
        }.result()
        for state in result.states {
            #expect(state.value == result.states[0].value, "\(run)")
            #expect(state.replica.register.slots == result.states[0].replica.register.slots, "\(run)")
        }
        for name in ["volume", "name", "note"] {
            let entry = result.states[0].replica.register.entries(name).last
            guard let newest = result.surviving.filter({ $0.names.contains(name) }).map(\.version).max() else {
                continue
            }
            let version = try #require(entry?.version, "\(run)")
            #expect(version >= newest, "\(run), \(name): \(version) rather than \(newest)")
        }
    }

    @Test(arguments: runs)
    func `A joined value keeps every peer's additions and no removed element`(run: Run) async throws {
        let result = try await StateRun(run, [Int](), merge: .custom { Array(Set($0 + $1)).sorted() }) {
            values, random in
            let removes = random.next() % 4 == 0
            if removes, !values.isEmpty { values.remove(at: Int(random.next() % UInt64(values.count))) }
            values = (values + [Int(random.next() % 1_000_000)]).sorted()
        }.result()
        for state in result.states { #expect(state.value == result.states[0].value, "\(run)") }
        // An element that a surviving edit added is still there, unless an edit removed it.
        let removed = Set(result.edits.flatMap(\.removed))
        for edit in result.surviving {
            for value in edit.added where !removed.contains(value) {
                #expect(result.states[0].value.contains(value), "\(run): \(value) of \(edit.version) is gone")
            }
        }
    }
}

/// One run: its edits and its result.
@MainActor
private final class StateRun<State: Codable & Sendable & Equatable> {
    struct Edit {
        let version: StateVersion
        let value: State
        let names: Set<String>
        var added: [Int] = []
        var removed: [Int] = []
    }

    struct Result {
        let states: [SharedState<State>]
        let edits: [Edit]
        /// The edits that weren't lost with the store of the only peer that knew them.
        let surviving: [Edit]
    }

    private let run: StatePropertyTests.Run
    private let initialValue: State
    private let merge: SharedStateMerge<State>
    private let change: (inout State, inout SplitMix64) -> Void
    private let world: StateWorld
    private var random: SplitMix64
    private var states: [SharedState<State>] = []
    private var edits: [Edit] = []
    private var lost: Set<StateVersion> = []

    init(
        _ run: StatePropertyTests.Run, _ initialValue: State, merge: SharedStateMerge<State>,
        change: @escaping (inout State, inout SplitMix64) -> Void
    ) {
        self.run = run
        self.initialValue = initialValue
        self.merge = merge
        self.change = change
        random = SplitMix64(seed: run.seed)
        world = StateWorld(seed: run.seed, run.ids, conditions: .rough)
    }

    func result() async throws -> Result {
        states = world.devices.map(launch)
        for _ in 0..<40 {
            try await step()
            world.network.advance(by: .milliseconds(Int64(random.next() % 400)))
            if random.next() % 4 > 0 { await world.rest() }
        }
        world.network.conditions = .calm
        world.heal()
        for index in states.indices where random.next() % 2 == 0 { try edit(index) }
        await world.rest()
        let isEqual = await world.run(for: .seconds(600)) {
            states.allSatisfy { $0.value == states[0].value && $0.isSynced }
        }
        if !isEqual {
            Issue.record("\(run): not equal, \(states.map(\.value)), \(states.map(\.pendingPeerIDs))")
        }
        for register in states.map(\.replica.register) {
            let versions = register.slots.values.joined().map(\.version)
            #expect(versions.allSatisfy(register.vector.covers), "\(run): a peer has seen all that it holds")
        }
        return Result(states: states, edits: edits, surviving: edits.filter { !lost.contains($0.version) })
    }

    private func launch(_ device: Device) -> SharedState<State> { device.state(initialValue, id: "s", merge: merge) }

    private func step() async throws {
        let index = Int(random.next() % UInt64(states.count))
        switch random.next() % 20 {
        case 0..<11: try edit(index)
        case 11..<14:
            let other = (index + 1) % states.count
            world.cut(run.ids[index], run.ids[other])
        case 14..<18: world.heal()
        case 18: await relaunch(index, losing: .nothing)
        default: await relaunch(index, losing: run.losesStores ? .store : .nothing)
        }
    }

    private func edit(_ index: Int) throws {
        // A store is read at once here. Before that, an edit has no version.
        guard states[index].replica.isLoaded else { return }
        let before = states[index].value
        let slots = states[index].replica.register.slots
        var value = before
        change(&value, &random)
        guard value != before else { return }
        try states[index].update(value)
        let register = states[index].replica.register
        let names = register.slots.filter { name, entries in slots[name] != entries && entries.last?.isDefault == false
        }
        guard let version = names.values.compactMap(\.last?.version).max() else { return }
        var edit = Edit(version: version, value: value, names: Set(names.keys))
        if let before = before as? [Int], let value = value as? [Int] {
            edit.added = value.filter { !before.contains($0) }
            edit.removed = before.filter { !value.contains($0) }
        }
        edits.append(edit)
    }

    /// Relaunches a peer. Unwritten edits are lost with the process, and edits that only this peer has with its store.
    private func relaunch(_ index: Int, losing loss: Device.Loss) async {
        let replica = states[index].replica
        if case .nothing = loss { await world.rest() }
        let isWritten = if case .nothing = loss { replica.changeCount == replica.storedCount } else { false }
        if !isWritten {
            let others = states.indices.filter { $0 != index }.map { states[$0].replica.register.vector }
            for edit in edits where !others.contains(where: { $0.covers(edit.version) }) { lost.insert(edit.version) }
        }
        world.devices[index].relaunch(losing: loss)
        states[index] = launch(world.devices[index])
        await world.rest()
    }
}
