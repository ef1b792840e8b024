import Foundation
import MeshBase
import MeshIdentity
import MeshRegister
import MeshScenarioTransport
import Testing

@testable import MeshSharedState

/// Two versions of an app, with sets, dictionaries, NaN, and texts in several normal forms. The network loses, repeats and
/// reorders, apps relaunch and are updated, and stores are restored from older copies. An edit changes its own field and no
/// other, nothing that a version doesn't know is lost, and in the end all show the same value.
@MainActor @Suite struct TwoVersionsTests {
    /// The seeds. For more, set `MESH_STATE_SEEDS=1000`, and `MESH_STATE_FROM` for the first.
    nonisolated static let seeds: [UInt64] = {
        let environment = ProcessInfo.processInfo.environment
        let first = UInt64(environment["MESH_STATE_FROM"] ?? "") ?? 1
        return Array(first..<(first + (UInt64(environment["MESH_STATE_SEEDS"] ?? "") ?? 24)))
    }()

    @Test(arguments: seeds)
    func `No edit of another field is lost, nor a field unknown to one version`(seed: UInt64) async throws {
        try await VersionsRun(seed).check()
    }
}

/// The fields that both versions know. The newer version also knows `Extra`, and more fields of a stop.
private struct Trip: Codable, Sendable, Equatable {
    var title = "trip"
    var tags: Set<String> = []
    var minutes: [Zone: Double] = [:]
    var pace = 1.0
    var stops: [Stop] = []
    var owner = Owner()
    var extra: Extra?

    struct Stop: Codable, Sendable, Equatable {
        var id = 0
        var name = ""
        var note: String?
    }
    struct Owner: Codable, Sendable, Equatable {
        var name = ""
        var marks: Set<Int>?
    }
    struct Extra: Codable, Sendable, Equatable {
        var days: [Date: Int] = [:]
    }
}

/// The older version of `Trip`, which neither reads nor writes the newer fields.
private struct OlderTrip: Codable, Sendable, Equatable {
    var title = "trip"
    var tags: Set<String> = []
    var minutes: [Zone: Double] = [:]
    var pace = 1.0
    var stops: [Stop] = []
    var owner = Owner()

    struct Stop: Codable, Sendable, Equatable {
        var id = 0
        var name = ""
    }
    struct Owner: Codable, Sendable, Equatable { var name = "" }
}

/// An app of either version.
@MainActor
private enum App {
    case older(SharedState<OlderTrip>)
    case newer(SharedState<Trip>)

    init(on device: Device, isNewer: Bool) {
        self =
            isNewer
            ? .newer(device.state(Trip(), id: "trip", merge: .fields))
            : .older(device.state(OlderTrip(), id: "trip", merge: .fields))
    }

    var isNewer: Bool { if case .newer = self { true } else { false } }
    var isLoaded: Bool {
        switch self {
        case .older(let state): state.replica.isLoaded
        case .newer(let state): state.replica.isLoaded
        }
    }
    var register: StateRegister {
        switch self {
        case .older(let state): state.replica.register
        case .newer(let state): state.replica.register
        }
    }
    var isSynced: Bool {
        switch self {
        case .older(let state): state.isSynced
        case .newer(let state): state.isSynced
        }
    }
    var error: (any Error)? {
        switch self {
        case .older(let state): state.lastSyncError
        case .newer(let state): state.lastSyncError
        }
    }
}

@MainActor
private final class VersionsRun {
    private static let fields = ["title", "tags", "minutes", "pace", "stops", "owner", "extra"]

    private let seed: UInt64
    private let world: StateWorld
    private var random: SplitMix64
    private var apps: [App] = []
    private var copies: [Disk?]
    private var number = 0

    init(_ seed: UInt64) {
        self.seed = seed
        random = SplitMix64(seed: seed)
        world = StateWorld(
            seed: seed, seed % 2 == 0 ? ["phone", "watch"] : ["phone", "watch", "tablet"], conditions: .rough)
        copies = world.devices.map { _ in nil }
        apps = world.devices.enumerated().map { App(on: $1, isNewer: $0 == 0) }
    }

    private func draw(_ count: Int) -> Int { Int(random.next() % UInt64(count)) }

    func check() async throws {
        for _ in 0..<50 {
            try await step()
            world.network.advance(by: .milliseconds(Int64(draw(400))))
            if draw(4) > 0 { await world.rest() }
        }
        world.network.conditions = .calm
        world.heal()
        await world.rest()
        for index in apps.indices { try edit(index) }
        let isEqual = await world.run(for: .seconds(900)) {
            self.apps.allSatisfy { $0.isSynced && $0.register.slots == self.apps[0].register.slots }
        }
        #expect(isEqual, "seed \(seed): not equal")
        for app in apps { #expect(app.error == nil, "seed \(seed): \(String(describing: app.error))") }
        for (index, app) in apps.enumerated() {
            if case .older = app { await relaunch(index, isNewer: true) }
        }
        await world.rest()
        let shown = apps.compactMap { app in if case .newer(let state) = app { state } else { nil } }
        for state in shown {
            #expect(state.replica.coder.areEquivalent(state.value, shown[0].value), "seed \(seed): \(state.value)")
        }
    }

    private func step() async throws {
        let index = draw(apps.count)
        switch draw(20) {
        case 0..<11: try edit(index)
        case 11..<14: world.cut(world.devices[index].peer.id, world.devices[(index + 1) % apps.count].peer.id)
        case 14..<16: world.heal()
        case 16: copies[index] = world.devices[index].store?.copied()
        case 17: await relaunch(index, isNewer: apps[index].isNewer)
        case 18: await relaunch(index, isNewer: !apps[index].isNewer)
        default:
            guard let copy = copies[index] else { return }
            await relaunch(index, isNewer: apps[index].isNewer, losing: .changesSince(copy))
        }
    }

    private func relaunch(_ index: Int, isNewer: Bool, losing loss: Device.Loss = .nothing) async {
        world.devices[index].relaunch(losing: loss)
        apps[index] = App(on: world.devices[index], isNewer: isNewer)
        // Sometimes it is edited before its store is read.
        if draw(2) == 0 { await world.rest() }
    }

    private func edit(_ index: Int) throws {
        let app = apps[index]
        let field = Self.fields[draw(app.isNewer ? Self.fields.count : Self.fields.count - 1)]
        let before = app.register
        number += 1
        switch app {
        case .newer(let state):
            var value = rewritten(state.value)
            if field == "extra" {
                if value.extra == nil || draw(4) > 0 {
                    let day = Date(timeIntervalSince1970: Double(draw(9)) * 86_400)
                    value.extra = Trip.Extra(days: (value.extra?.days ?? [:]).merging([day: number]) { $1 })
                } else {
                    value.extra = nil
                }
            } else if field == "owner" {
                value.owner.marks = (value.owner.marks ?? []).union([draw(50)])
            } else if field == "stops" {
                value.stops.append(.init(id: number, name: "\(number)", note: "note \(number)"))
                value.stops = value.stops.suffix(5)
            } else {
                change(&value.title, &value.tags, &value.minutes, &value.pace, field)
            }
            try state.update(value)
        case .older(let state):
            var value = rewritten(state.value)
            switch field {
            case "owner": value.owner.name = "\(number)"
            case "stops" where value.stops.isEmpty || draw(2) == 0:
                value.stops.insert(.init(id: number, name: "\(number)"), at: draw(value.stops.count + 1))
            case "stops" where draw(2) == 0: value.stops.remove(at: draw(value.stops.count))
            case "stops": value.stops[draw(value.stops.count)].name = "\(number)"
            default: change(&value.title, &value.tags, &value.minutes, &value.pace, field)
            }
            try state.update(value)
        }
        guard app.isLoaded else { return }
        check(field, before: before, after: app.register, isNewer: app.isNewer)
    }

    private func change(
        _ title: inout String, _ tags: inout Set<String>, _ minutes: inout [Zone: Double], _ pace: inout Double,
        _ field: String
    ) {
        switch field {
        case "title": title = "caf\u{E9} \(number)"
        case "tags":
            tags =
                draw(3) == 0 ? tags.filter { _ in draw(2) == 0 }.union(["\(number)"]) : tags.union(["\u{E9}\(number)"])
        case "minutes": minutes[Zone.allCases[draw(5)]] = draw(3) == 0 ? .infinity : Double(number)
        default: pace = draw(2) == 0 ? .nan : Double(number)
        }
    }

    /// An equal value with its elements in another order, and its texts in the other normal form.
    private func rewritten(_ value: Trip) -> Trip {
        var value = value
        rewrite(&value.title, &value.tags, &value.minutes)
        value.owner.marks = value.owner.marks.map { Self.reordered($0) }
        return value
    }

    private func rewritten(_ value: OlderTrip) -> OlderTrip {
        var value = value
        rewrite(&value.title, &value.tags, &value.minutes)
        return value
    }

    private func rewrite(_ title: inout String, _ tags: inout Set<String>, _ minutes: inout [Zone: Double]) {
        if draw(2) == 0 { title = title.decomposedStringWithCanonicalMapping }
        tags = Self.reordered(Set(tags.map { draw(2) == 0 ? $0.decomposedStringWithCanonicalMapping : $0 }))
        var other: [Zone: Double] = [:]
        other.reserveCapacity(1 + draw(400))
        for (zone, count) in minutes.reversed() { other[zone] = count }
        minutes = other
    }

    private static func reordered<Element: Hashable>(_ values: Set<Element>) -> Set<Element> {
        var other: Set<Element> = []
        other.reserveCapacity(values.count * 9 + 40)
        for value in values.reversed() { other.insert(value) }
        return other
    }

    /// Checks that the edit changed its own field and no other.
    private func check(_ field: String, before: StateRegister, after: StateRegister, isNewer: Bool) {
        for (name, entries) in after.slots where name != field && entries.last?.isDefault == false {
            #expect(entries == before.slots[name], "seed \(seed), edit \(number) of '\(field)' changed '\(name)'")
        }
        guard !isNewer else { return }
        func read<Part: Decodable>(_ name: String, _ register: StateRegister, _ type: Part.Type) -> Part? {
            register.slots[name]?.last?.bytes.flatMap { try? JSONDecoder().decode(type, from: $0) }
        }
        let marks = (read("owner", before, Trip.Owner.self), read("owner", after, Trip.Owner.self))
        #expect(marks.0?.marks == marks.1?.marks, "seed \(seed), edit \(number): marks are lost")
        let stops = read("stops", before, [Trip.Stop].self) ?? []
        let notes = Dictionary(stops.map { ($0.id, $0.note) }, uniquingKeysWith: { $1 })
        for stop in read("stops", after, [Trip.Stop].self) ?? [] {
            #expect(stop.note == notes[stop.id] ?? nil, "seed \(seed), edit \(number): a note is lost")
        }
    }
}
