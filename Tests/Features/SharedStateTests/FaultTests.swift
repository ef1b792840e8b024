import Foundation
import MeshConnection
import MeshIdentity
import MeshScenarioTransport
import Testing

@testable import MeshSharedState

enum Left {
    struct Settings: Codable, Sendable, Equatable { var isOn = false }
}

enum Right {
    struct Settings: Codable, Sendable, Equatable { var size = 0 }
}

/// The faults of the reference. Each rule is stated once, as a check that returns a complaint or nil. Our states must pass
/// it, and a model of the faulty rule must fail it.
@MainActor @Suite struct FaultTests {
    private func expect(
        _ check: @MainActor (any StatePair) async throws -> String?, catches fault: FaultyPair.Fault,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        for merge in [SharedStateMerge<Settings>.whole, .fields] {
            let complaint = try await check(OurPair(merge))
            #expect(complaint == nil, "\(merge.kind)", sourceLocation: sourceLocation)
        }
        #expect(try await check(FaultyPair(fault)) != nil, "the check cannot fail", sourceLocation: sourceLocation)
        #expect(
            try await check(FaultyPair(.none)) == nil, "the check is about something else",
            sourceLocation: sourceLocation)
    }

    @Test func `W10 two states changed together both arrive`() async throws {
        try await expect(
            { pair in
                await pair.connect()
                try pair.update(.phone, .settings, Settings(volume: 1))
                try pair.update(.phone, .profile, Settings(volume: 2))
                await pair.connect()
                let volumes = StateName.allCases.map { pair.value(.watch, $0).volume }
                return volumes == [1, 2] ? nil : "the watch has \(volumes)"
            }, catches: .wholeContext)
    }

    @Test func `W11 eight rapid changes end on the last`() async throws {
        try await expect(
            { pair in
                await pair.connect()
                for volume in 10..<18 { try pair.update(.phone, .settings, Settings(volume: volume)) }
                await pair.connect()
                let volume = pair.value(.watch, .settings).volume
                return volume == 17 ? nil : "it ended on \(volume)"
            }, catches: .anyOrder)
    }

    @Test func `W12 changes on both sides at once end on the newer, on both`() async throws {
        try await expect(
            { pair in
                await pair.connect()
                await pair.cut()
                try pair.update(.phone, .settings, Settings(volume: 1))
                try pair.update(.watch, .settings, Settings(volume: 2))
                await pair.connect()
                let volumes = DeviceName.allCases.map { pair.value($0, .settings).volume }
                return volumes == [2, 2] ? nil : "phone and watch have \(volumes)"
            }, catches: .arrivalWins)
    }

    @Test(arguments: DeviceName.allCases)
    func `W13 after a relaunch of either side the newest value stays`(device: DeviceName) async throws {
        try await expect(
            { pair in
                await pair.connect()
                try pair.update(device.other, .settings, Settings(volume: 1))
                await pair.connect()
                await pair.cut()
                try pair.update(device, .settings, Settings(volume: 2))
                await pair.relaunch(device)
                let own = pair.value(device, .settings).volume
                guard own == 2 else { return "\(device) came back with \(own)" }
                await pair.relaunch(device.other)
                await pair.connect()
                let volumes = DeviceName.allCases.map { pair.value($0, .settings).volume }
                return volumes == [2, 2] ? nil : "phone and watch have \(volumes)"
            }, catches: .peersValueAtLaunch)
    }

    @Test func `W14 a change made without reachable peers is sent once a peer is reachable`() async throws {
        try await expect(
            { pair in
                try pair.update(.phone, .settings, Settings(volume: 9))
                await pair.connect()
                let volume = pair.value(.watch, .settings).volume
                return volume == 9 ? nil : "the watch has \(volume)"
            }, catches: .dropsUnsent)
    }

    @Test func `W15 what cannot be encoded changes nothing`() async throws {
        try await expect(
            { pair in
                do {
                    try pair.update(.phone, .settings, Settings(gain: .infinity))
                    return "nobody said so"
                } catch is EncodingError {
                    let value = pair.value(.phone, .settings)
                    return value == Settings() ? nil : "the value is \(value)"
                }
            }, catches: .commitsFirst)
    }

    @Test func `W16 types with the same short name have distinct IDs`() throws {
        func complaint(_ name: (Any.Type) -> String) -> String? {
            let names = [Left.Settings.self, Right.Settings.self, Settings.self].map { name($0 as Any.Type) }
            return Set(names).count == 3 ? nil : "the names are \(names)"
        }
        #expect(complaint(TypeName.nested) == nil)
        #expect(complaint(faultyName) != nil)
        // The apps of a phone and a watch are modules with different names.
        #expect(TypeName.nested(Left.Settings.self) == "Left.Settings")
        #expect(TypeName.nested([Left.Settings].self) == "Array<Left.Settings>")
        #expect(TypeName.nested([String: Settings?].self) == "Dictionary<String, Optional<Settings>>")
        struct Local {}
        #expect(TypeName.nested(Local.self) == "FaultTests.Local")
        #expect(TypeName.nested(Hidden.self) == "Hidden")
    }

    @Test func `W16 another type under an ID in use is an error and changes nothing`() async throws {
        let world = StateWorld()
        let first = world["phone"].state(Left.Settings(), id: "settings")
        let second = world["phone"].state(Right.Settings(), id: "settings")
        let there = world["watch"].state(Left.Settings(), id: "settings")
        #expect(throws: ConnectionError.self) { try second.update(Right.Settings(size: 1)) }
        #expect(second.lastSyncError as? ConnectionError == .idInUse(id: "sessionmesh.state/settings"))
        #expect(second.value == Right.Settings())
        try first.update(Left.Settings(isOn: true))
        #expect(await world.run { there.value.isOn })
        #expect(first.lastSyncError == nil)
    }

    @Test func `W17 a released state is freed with its tasks, and its last change is sent`() async throws {
        func complaint(
            _ make: @MainActor () -> AnyObject, _ wait: @MainActor (@MainActor () -> Bool) async -> Void
        ) async -> String? {
            weak var object: AnyObject?
            do { object = make() }
            await wait { object == nil }
            return object == nil ? nil : "it is still there"
        }
        let world = StateWorld()
        let there = world["watch"].state(Settings())
        let ours = await complaint(
            {
                let state = world["phone"].state(Settings())
                try? state.update(Settings(volume: 2))
                return state.replica
            }, { condition in await world.run(until: condition) })
        #expect(ours == nil)
        #expect(await world.run { there.value.volume == 2 })
        // Its route is free for the next state.
        let next = world["phone"].state(Settings())
        #expect(await world.run { next.value.volume == 2 })
        #expect(next.lastSyncError == nil)

        var task: Task<Void, Never>?
        let faulty = await complaint(
            {
                let listener = FaultyListener()
                task = listener.task
                return listener
            }, { condition in for _ in 0..<100 where !condition() { await Task.yield() } })
        task?.cancel()
        #expect(faulty != nil)
    }
}

private struct Hidden {}

/// Our states, in the form that the checks use.
@MainActor
private final class OurPair: StatePair {
    private let world = StateWorld()
    private let merge: SharedStateMerge<Settings>
    private var states: [DeviceName: [StateName: SharedState<Settings>]] = [:]

    init(_ merge: SharedStateMerge<Settings>) {
        self.merge = merge
        world.cut("phone", "watch")
        for device in DeviceName.allCases { launch(device) }
    }

    private func launch(_ device: DeviceName) {
        for name in StateName.allCases {
            states[device, default: [:]][name] = world[device.rawValue].state(
                // An encoder that refuses NaN and infinity, as Foundation's does.
                Settings(), id: name.rawValue, merge: merge, encoder: JSONEncoder())
        }
    }

    func update(_ device: DeviceName, _ state: StateName, _ value: Settings) throws {
        world.network.advance(by: .milliseconds(1))
        try states[device]?[state]?.update(value)
    }

    func value(_ device: DeviceName, _ state: StateName) -> Settings {
        states[device]?[state]?.value ?? Settings()
    }

    func connect() async {
        world.heal()
        await world.run(for: .seconds(3))
    }

    func cut() async {
        world.cut("phone", "watch")
        await world.run(for: .seconds(1))
    }

    func relaunch(_ device: DeviceName) async {
        await world.rest()
        world[device.rawValue].relaunch()
        launch(device)
        await world.rest()
    }
}
