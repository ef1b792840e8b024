import Foundation
import MeshBase
import MeshIdentity
import MeshRegister
import Testing

@testable import MeshSharedState

/// A value that a newer version of an app shares.
struct NewerRoute: Codable, Sendable, Equatable {
    struct Stop: Codable, Sendable, Equatable {
        var id = 0
        var name = ""
        var note: String?
    }
    struct Owner: Codable, Sendable, Equatable {
        var name = "A"
        var phone: String?
    }
    enum Kind: Codable, Sendable, Equatable {
        case walk(steps: Int, shoes: String?)
        case ride
    }

    var title = "run"
    var volume = 1
    var coach: String?
    var laps: Int?
    var owner = Owner()
    var stops: [Stop] = []
    var kind = Kind.ride
}

/// The value in the app's older version, which knows fewer fields at each depth.
struct OlderRoute: Codable, Sendable, Equatable {
    struct Stop: Codable, Sendable, Equatable {
        var id = 0
        var name = ""
    }
    struct Owner: Codable, Sendable, Equatable { var name = "A" }
    enum Kind: Codable, Sendable, Equatable {
        case walk(steps: Int)
        case ride
    }

    var title = "run"
    var volume = 1
    var owner = Owner()
    var stops: [Stop] = []
    var kind = Kind.ride
}

@MainActor @Suite struct UnknownFieldsTests {
    let world = StateWorld()
    var phone: Device { world["phone"] }
    var watch: Device { world["watch"] }

    nonisolated static let merges = ["fields", "whole"]
    private func merge<State>(_ name: String) -> SharedStateMerge<State> { name == "fields" ? .fields : .whole }

    @Test(arguments: merges)
    func `An older app that changes a field deletes no unknown one, at any depth`(name: String)
        async throws
    {
        let newer = phone.state(NewerRoute(), id: "s", merge: merge(name))
        let older = watch.state(OlderRoute(), id: "s", merge: merge(name))
        var expected = NewerRoute(
            coach: "Ada", laps: 12, owner: .init(name: "B", phone: "1"),
            stops: [.init(id: 1, name: "a", note: "x"), .init(id: 2, name: "b", note: "y"), .init(id: 3, name: "c")],
            kind: .walk(steps: 1, shoes: "red"))
        try newer.update(expected)
        #expect(await world.run { newer.isSynced && older.value.stops.count == 3 })

        let edits: [(inout OlderRoute, inout NewerRoute) -> Void] = [
            { ($0.volume, $1.volume) = (7, 7) },
            { ($0.owner.name, $1.owner.name) = ("C", "C") },
            { ($0.stops[1].name, $1.stops[1].name) = ("bb", "bb") },
            { old, new in
                old.stops.insert(.init(id: 9, name: "n"), at: 0)
                new.stops.insert(.init(id: 9, name: "n"), at: 0)
            },
            { old, new in
                old.stops.swapAt(1, 2)
                new.stops.swapAt(1, 2)
            },
            { old, new in
                old.stops.removeLast()
                new.stops.removeLast()
            },
            { ($0.kind, $1.kind) = (.walk(steps: 2), .walk(steps: 2, shoes: "red")) },
            { ($0.kind, $1.kind) = (.ride, .ride) },
            { ($0.kind, $1.kind) = (.walk(steps: 3), .walk(steps: 3, shoes: nil)) },
        ]
        for (index, edit) in edits.enumerated() {
            var value = older.value
            edit(&value, &expected)
            try older.update(value)
            #expect(older.value == value, "edit \(index)")
            #expect(await world.run { newer.value == expected }, "edit \(index)")
            #expect(newer.value == expected, "edit \(index)")
        }
        #expect(newer.conflicts.isEmpty && newer.lastSyncError == nil)
    }

    @Test(arguments: merges)
    func `An initially nil field is set and removed again on all devices`(name: String) async throws {
        let newer = phone.state(NewerRoute(), id: "s", merge: merge(name))
        let other = watch.state(NewerRoute(), id: "s", merge: merge(name))
        for coach in ["Ada", nil, "Bea", nil] as [String?] {
            var value = newer.value
            value.coach = coach
            value.owner.phone = coach
            try newer.update(value)
            #expect(await world.run { other.value == value })
            #expect(other.value == value)
        }
    }

    @Test func `A field of the initial value can be removed`() async throws {
        let initial = NewerRoute(coach: "nobody")
        let (here, there) = (phone.state(initial, merge: .fields), watch.state(initial, merge: .fields))
        try here.update(NewerRoute(coach: nil))
        #expect(await world.run { there.value.coach == nil })
    }

    /// A version in which `coach` is renamed to `trainer`, and still read under its former name.
    struct Renamed: Codable, Sendable, Equatable {
        var title = "run"
        var trainer: String?
        private enum CodingKeys: String, CodingKey { case title, trainer }
        private enum FormerKeys: String, CodingKey { case coach }

        init(title: String = "run", trainer: String? = nil) { (self.title, self.trainer) = (title, trainer) }
        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            title = try container.decode(String.self, forKey: .title)
            trainer = try container.decodeIfPresent(String.self, forKey: .trainer)
            let former = try decoder.container(keyedBy: FormerKeys.self)
            trainer = try trainer ?? former.decodeIfPresent(String.self, forKey: .coach)
        }
    }

    @Test func `A field also read under a former name is changed and removed, and others stay`() async throws {
        let former = phone.state(NewerRoute(), id: "s", merge: .fields)
        let renamed = watch.state(Renamed(), id: "s", merge: .fields)
        try former.update(NewerRoute(coach: "Ada", laps: 12))
        #expect(await world.run { renamed.value.trainer == "Ada" })
        try renamed.update(Renamed(title: "walk", trainer: "Ada"))
        #expect(await world.run { former.value.title == "walk" })
        #expect(former.value.coach == "Ada")
        for trainer in [nil, "Bea", nil] as [String?] {
            try renamed.update(Renamed(title: "walk", trainer: trainer))
            #expect(renamed.value.trainer == trainer)
            await world.run(for: .seconds(2))
            #expect(renamed.value.trainer == trainer)
        }
        #expect(former.value.coach == nil)
        #expect(former.value.laps == 12)
    }

    @Test func `A coding key that the encoder respells is recognized`() async throws {
        struct Options: Codable, Sendable, Equatable {
            var firstName: String?
            var size = 1
            private enum CodingKeys: String, CodingKey {
                case firstName = "givenName"
                case size
            }
        }
        let (encoder, decoder) = (JSONEncoder(), JSONDecoder())
        encoder.keyEncodingStrategy = .convertToSnakeCase
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        let state = SharedState(
            initialValue: Options(), connection: phone.connection, merge: .fields, encoder: encoder, decoder: decoder)
        #expect(await world.run { state.replica.isLoaded })
        for name in ["Ada", nil] as [String?] {
            try state.update(Options(firstName: name, size: state.value.size + 1))
            #expect(state.value.firstName == name)
            #expect(state.replica.register.slots["given_name"]?.last?.bytes == name.map { Data("\"\($0)\"".utf8) })
        }
    }

    @Test func `A change by an older app before its store is read deletes nothing`() async throws {
        var state = phone.state(NewerRoute(), id: "s", merge: .fields)
        try state.update(
            NewerRoute(coach: "Ada", owner: .init(name: "A", phone: "1"), stops: [.init(id: 1, note: "x")]))
        await world.run(for: .seconds(1))
        phone.relaunch()
        let older = phone.state(OlderRoute(), id: "s", merge: .fields)
        #expect(!older.replica.isLoaded)
        try older.update(OlderRoute(volume: 3, owner: .init(name: "B")))
        await world.run(for: .seconds(1))
        phone.relaunch()
        state = phone.state(NewerRoute(), id: "s", merge: .fields)
        await world.rest()
        #expect(
            state.value
                == NewerRoute(
                    volume: 3, coach: "Ada", owner: .init(name: "B", phone: "1"), stops: [.init(id: 1, note: "x")]))
    }

    @Test func `Fields that a peer invents cost a bounded number of tries`() throws {
        struct Greedy: Codable, Sendable, Equatable {
            static let tries = Locked(0)
            var names: [String: Int] = [:]
            private enum CodingKeys: String, CodingKey { case own }
            struct Name: CodingKey {
                var stringValue: String
                var intValue: Int? { nil }
                init(stringValue: String) { self.stringValue = stringValue }
                init?(intValue: Int) { nil }
            }
            init(names: [String: Int] = [:]) { self.names = names }
            init(from decoder: any Decoder) throws {
                Self.tries.withLock { $0 += 1 }
                let container = try decoder.container(keyedBy: Name.self)
                for key in container.allKeys { names[key.stringValue] = try container.decode(Int.self, forKey: key) }
            }
            func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: CodingKeys.self)
                try container.encode(names["own"] ?? 0, forKey: .own)
            }
        }
        let state = phone.state(Greedy(), merge: .fields)
        var register = state.replica.register
        for number in 0..<4000 {
            let version = StateVersion(stamp: HybridTimestamp(rawValue: UInt64(number) + 1), author: "watch#1")
            register.set(Data("1".utf8), "x\(number)", version)
        }
        let change = state.replica.coder.change(
            from: ["own": Data("0".utf8)], to: ["own": Data("1".utf8)], read: Greedy(names: ["own": 1]), in: register)
        #expect(change.whole == Data(#"{"own":1}"#.utf8))
        #expect(Greedy.tries.withLock { $0 } < 80)
    }

    /// Frames of the previous version: sets in the order of hashes, and objects with members that this version doesn't know.
    @Test func `Bytes written by the previous version are kept unchanged`() throws {
        struct Tags: Codable, Sendable, Equatable {
            var tags: Set<String> = []
            var title = ""
        }
        let json = #"""
            {"k":"fields","l":7,"a":["watch#1"],"h":[9],"i":[
            {"n":"tags","a":0,"s":9,"v":"WyJiIiwiYSIsImMiXQ=="},{"n":"title","a":0,"s":9,"v":"Im9sZCI="},
            {"n":"other","a":0,"s":9,"v":"eyJ6IjpbMiwxXX0="}]}
            """#
        let message = try JSONDecoder().decode(StateMessage.self, from: Data(json.utf8))
        let coder = phone.state(Tags(), merge: .fields).replica.coder
        var register = StateRegister(kind: .fields)
        _ = register.merge(message.items, has: message.has, base: message.base)
        let value = try #require(coder.reading(of: register).shown)
        #expect(value == Tags(tags: ["a", "b", "c"], title: "old"))
        let new = Tags(tags: ["c", "b", "a"], title: "new")
        let change = try coder.change(
            from: coder.fields(of: value), to: coder.fields(of: new), read: new, in: register)
        #expect(change.fields == ["title": Data(#""new""#.utf8)])
        #expect(
            change.whole.map { String(decoding: $0, as: UTF8.self) }
                == #"{"other":{"z":[2,1]},"tags":["b","a","c"],"title":"new"}"#)
    }
}

@MainActor @Suite struct ShownIsSentTests {
    let world = StateWorld()
    var phone: Device { world["phone"] }
    var watch: Device { world["watch"] }

    struct Lossy: Codable, Sendable, Equatable {
        var at = Date(timeIntervalSince1970: 1.75)
        var count = 0
        var local = 0
        private enum CodingKeys: String, CodingKey { case at, count }
    }

    @Test func `A device shows the value as decoded, as its peers and its next launch do`() async throws {
        for merge in [SharedStateMerge<Lossy>.fields, .whole, .custom { $1 }] {
            let world = StateWorld()
            let (encoder, decoder) = (JSONEncoder(), JSONDecoder())
            encoder.dateEncodingStrategy = .iso8601
            decoder.dateDecodingStrategy = .iso8601
            func state(_ id: String) -> SharedState<Lossy> {
                SharedState(
                    initialValue: Lossy(), connection: world[id].connection, merge: merge, encoder: encoder,
                    decoder: decoder)
            }
            let (here, there) = (state("phone"), state("watch"))
            await world.run(for: .seconds(1))
            try here.update(Lossy(at: Date(timeIntervalSince1970: 5.25), count: 1, local: 3))
            let shown = here.value
            #expect(shown == Lossy(at: Date(timeIntervalSince1970: 5), count: 1, local: 0))
            #expect(await world.run { there.value == shown })
            await world.run(for: .seconds(1))
            world["phone"].relaunch()
            let again = state("phone")
            #expect(await world.run { again.value == shown })
        }
    }

    @Test func `A value that cannot be read back is refused, and nothing changes`() async throws {
        struct Broken: Codable, Sendable, Equatable {
            var number = 0
            init(number: Int = 0) { self.number = number }
            init(from decoder: any Decoder) throws {
                number = try decoder.container(keyedBy: CodingKeys.self).decode(Int.self, forKey: .number)
                if number > 9 { throw CocoaError(.coderInvalidValue) }
            }
        }
        for merge in [SharedStateMerge<Broken>.fields, .whole] {
            let state = phone.state(Broken(), id: "\(merge.kind)", merge: merge)
            await world.rest()
            try state.update(Broken(number: 9))
            let before = state.replica.register
            #expect(throws: (any Error).self) { try state.update(Broken(number: 10)) }
            #expect(state.replica.register == before)
            #expect(state.value.number == 9)
        }
    }
}
