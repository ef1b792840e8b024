import Foundation
import MeshRegister
import MeshScenarioTransport
import Testing

@testable import MeshSharedState

enum Zone: String, Codable, Sendable, CaseIterable { case warm, fat, aerobic, hard, max }

/// Fields that JSON writes as lists in no defined order.
struct Plan: Codable, Sendable, Equatable {
    var title = "run"
    var tags: Set<String> = []
    var minutes: [Zone: Int] = [:]
    var laps: [UUID: Double] = [:]
    var days: [Date: Set<Zone>] = [:]
    var routes: [String: Set<Int>] = [:]
    var pace = 1.0

    static let full: Plan = {
        let zones = Dictionary(uniqueKeysWithValues: Zone.allCases.enumerated().map { ($1, $0) })
        return Plan(
            tags: ["tempo", "hill", "long", "easy", "race", "group"], minutes: zones,
            laps: Dictionary(uniqueKeysWithValues: (0..<6).map { (UUID(), Double($0)) }),
            days: Dictionary(
                uniqueKeysWithValues: (0..<6).map {
                    (Date(timeIntervalSince1970: Double(86_400 * $0)), Set(Zone.allCases))
                }),
            routes: ["river": [1, 2, 3, 4, 5, 6], "parkLoop": [7, 8, 9]])
    }()

    /// An equal value whose elements are in another order.
    func reordered() -> Plan {
        func reorder<Key: Hashable, Value>(_ values: [Key: Value]) -> [Key: Value] {
            var reordered: [Key: Value] = [:]
            reordered.reserveCapacity(values.count * 20)
            for (key, value) in values.reversed() { reordered[key] = value }
            return reordered
        }
        var plan = self
        plan.tags = Set(minimumCapacity: 500)
        for tag in tags { plan.tags.insert(tag) }
        (plan.minutes, plan.laps, plan.days) = (reorder(minutes), reorder(laps), reorder(days))
        return plan
    }

    init(
        title: String = "run", tags: Set<String> = [], minutes: [Zone: Int] = [:], laps: [UUID: Double] = [:],
        days: [Date: Set<Zone>] = [:], routes: [String: Set<Int>] = [:], pace: Double = 1
    ) {
        (self.title, self.tags, self.minutes, self.laps) = (title, tags, minutes, laps)
        (self.days, self.routes, self.pace) = (days, routes, pace)
    }
}

@MainActor @Suite struct UnchangedFieldsTests {
    let world = StateWorld()
    var phone: Device { world["phone"] }
    var watch: Device { world["watch"] }

    @Test(arguments: 0..<40)
    func `A change of the title keeps another device's changes to sets and dictionaries`(round: Int) async throws {
        let (here, there) = (phone.state(Plan(), merge: .fields), watch.state(Plan(), merge: .fields))
        try here.update(.full)
        #expect(await world.run { there.value == .full && here.isSynced })
        world.cut("phone", "watch")
        var plan = here.value
        plan.tags.insert("new \(round)")
        plan.minutes[.max] = 50
        try here.update(plan)
        world.network.advance(by: .seconds(1))
        var other = there.value.reordered()
        other.title = "walk"
        try there.update(other)
        world.heal()
        plan.title = "walk"
        #expect(await world.run { here.value == plan && there.value == plan })
        #expect(here.conflicts.isEmpty && there.conflicts.isEmpty)
    }

    @Test func `Equal fields aren't a change, whatever their elements' order in memory`() async throws {
        for merge in [SharedStateMerge<Plan>.fields, .whole, .custom { $1 }] {
            let state = phone.state(Plan(), id: "\(merge.kind)", merge: merge)
            await world.rest()
            try state.update(.full)
            for _ in 0..<20 {
                let before = state.replica.register
                try state.update(state.value.reordered())
                #expect(state.replica.register == before)
                var plan = state.value.reordered()
                plan.title += "!"
                try state.update(plan)
                for (name, entries) in before.slots where name != "title" && merge.kind == .fields {
                    #expect(state.replica.register.slots[name] == entries, "\(name)")
                }
            }
        }
    }

    @Test func `A text in another Unicode normal form isn't a change`() async throws {
        struct Names: Codable, Sendable, Equatable {
            var title = ""
            var names: Set<String> = []
            var ages: [String: Int] = [:]
        }
        let (composed, decomposed) = ("caf\u{E9}", "cafe\u{301}")
        let state = phone.state(Names(), merge: .fields)
        await world.rest()
        try state.update(Names(names: [composed, "cafz"], ages: [composed: 1, "x": 2]))
        let before = state.replica.register.slots
        try state.update(Names(title: "new", names: [decomposed, "cafz"], ages: [decomposed: 1, "x": 2]))
        #expect(state.replica.register.slots["names"] == before["names"])
        #expect(state.replica.register.slots["ages"] == before["ages"])
        #expect(state.value == Names(title: "new", names: [composed, "cafz"], ages: [composed: 1, "x": 2]))
    }

    @Test func `NaN is a value like others, and equal to itself`() async throws {
        for merge in [SharedStateMerge<Plan>.fields, .whole, .custom { $1 }] {
            let here = phone.state(Plan(), id: "\(merge.kind)", merge: merge)
            let there = watch.state(Plan(), id: "\(merge.kind)", merge: merge)
            for pace in [Double.nan, .infinity, -.infinity] {
                var plan = Plan.full
                plan.pace = pace
                try here.update(plan)
                let before = here.replica.register
                try here.update(plan.reordered())
                #expect(here.replica.register == before)
                plan.pace = 0
                #expect(
                    await world.run { there.value.pace.description == pace.description && here.isSynced })
                for state in [here, there] {
                    var value = state.value
                    value.pace = 0
                    #expect(value == plan)
                    #expect(state.lastSyncError == nil)
                }
            }
        }
    }

    @Test func `The encoder's settings also apply inside sets and dictionaries`() throws {
        struct Dates: Codable, Sendable, Equatable {
            var firstDay = Date(timeIntervalSince1970: 0)
            var allDays: Set<Date> = [Date(timeIntervalSince1970: 0), Date(timeIntervalSince1970: 86_400)]
            var dayNames: [String: Date] = ["newYear": Date(timeIntervalSince1970: 0)]
            var pictures: [String: [Data?]] = ["aB": [Data([1]), nil]]
            var links: [Int: URL?] = [1: URL(string: "https://example.org")]
            var price: Decimal? = Decimal(string: "1.10")
        }
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .iso8601
        encoder.keyEncodingStrategy = .convertToSnakeCase
        encoder.dataEncodingStrategy = .custom { data, encoder in try data.map(Int.init).encode(to: encoder) }
        func value(_ json: Data) throws -> JSONValue { try JSONValue(json) }
        #expect(
            try value(encoder.encode(MarkedJSON(value: Dates().dayNames))) == value(encoder.encode(Dates().dayNames)))
        guard case .object(var plain) = try value(encoder.encode(Dates())),
            case .object(let marked) = try value(encoder.encode(MarkedJSON(value: Dates())))
        else {
            Issue.record("no objects")
            return
        }
        plain["all_days"] = .list([.scalar(#""1970-01-01T00:00:00Z""#), .scalar(#""1970-01-02T00:00:00Z""#)])
        #expect(marked == plain)
    }

    @Test func `Classes, base classes and nested containers keep their own encoding`() throws {
        class Base: Encodable {
            var base = [Zone.fat: 1]
        }
        final class Derived: Base {
            enum Keys: String, CodingKey { case list, object, own, base }
            override func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: Keys.self)
                var list = container.nestedUnkeyedContainer(forKey: .list)
                try list.encodeNil()
                try list.encode(contentsOf: [1.5, 2])
                var inner = list.nestedContainer(keyedBy: Keys.self)
                try inner.encode(Set([3]), forKey: .own)
                try Set([4]).encode(to: list.superEncoder())
                var innermost = list.nestedUnkeyedContainer()
                try innermost.encode("x")
                var object = container.nestedContainer(keyedBy: Keys.self, forKey: .object)
                try object.encodeNil(forKey: .own)
                try object.encodeIfPresent(nil as Int?, forKey: .list)
                try super.encode(to: container.superEncoder())
                try super.encode(to: container.superEncoder(forKey: .base))
            }
        }
        let plain = try JSONFields.canonical(JSONEncoder().encode(Derived()))
        #expect(try JSONFields.canonical(JSONEncoder().encode(MarkedJSON(value: Derived()))) == plain)
    }

    @Test func `A reordered list has changed`() async throws {
        struct Steps: Codable, Sendable, Equatable { var steps = ["a", "b"] }
        let state = phone.state(Steps(), merge: .fields)
        await world.rest()
        try state.update(Steps(steps: ["b", "a"]))
        #expect(state.replica.register.slots["steps"]?.last?.bytes == Data(#"["b","a"]"#.utf8))
    }
}
