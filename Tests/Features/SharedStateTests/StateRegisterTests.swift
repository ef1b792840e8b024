import Foundation
import MeshIdentity
import MeshRegister
import Testing

@testable import MeshSharedState

@Suite struct StateRegisterTests {
    private func version(_ stamp: UInt64, _ author: String = "a#1") -> StateVersion {
        StateVersion(stamp: HybridTimestamp(rawValue: stamp), author: author)
    }

    /// Sends one register everything that it lacks of another.
    @discardableResult
    private func merge(_ target: inout StateRegister, _ source: StateRegister, base: StateVector? = nil)
        -> StateRegister.Outcome
    {
        target.merge(
            source.entries(missingFrom: base ?? StateVector()), has: source.vector, base: base,
            forgotten: source.forgotten)
    }

    private func bytes(_ number: Int) -> Data { Data("\(number)".utf8) }

    @Test(arguments: [StateRegister.Kind.whole, .fields, .custom])
    func `All replicas become equal in any order of exchanges`(kind: StateRegister.Kind) {
        // Three edits, each by an author that may have seen the one before. Every order of three exchanges, run twice.
        for seenMask in 0..<4 {
            let first = set(StateRegister(kind: kind), 1, version(10, "a#1"))
            let second = set(seenMask & 1 == 0 ? StateRegister(kind: kind) : first, 2, version(20, "b#1"))
            let third = set(seenMask & 2 == 0 ? StateRegister(kind: kind) : second, 3, version(25, "c#1"))
            var results: Set<StateRegister> = []
            for order in permutations([0, 1, 2]) {
                var all = StateRegister(kind: kind)
                for index in order + order { merge(&all, [first, second, third][index]) }
                results.insert(all)
            }
            #expect(results.count == 1, "\(kind), \(seenMask)")
            #expect(results.first?.entries("").last?.bytes == bytes(3))
            if kind == .custom {
                let expected = [[1, 2, 3], [2, 3], [1, 3], [3]][seenMask].map(bytes)
                #expect(results.first?.entries("").map(\.bytes) == expected, "\(seenMask)")
            }
        }
    }

    private func set(_ register: StateRegister, _ number: Int, _ version: StateVersion) -> StateRegister {
        var register = register
        register.set(bytes(number), "", version)
        return register
    }

    private func permutations(_ items: [Int]) -> [[Int]] {
        guard !items.isEmpty else { return [[]] }
        return items.flatMap { item in permutations(items.filter { $0 != item }).map { [item] + $0 } }
    }

    @Test func `A part without its predecessors is rejected`() {
        var source = StateRegister(kind: .fields)
        source.set(bytes(1), "a", version(1))
        let base = source.vector
        source.set(bytes(2), "b", version(2))
        var target = StateRegister(kind: .fields)
        #expect(merge(&target, source, base: base).isIncomplete)
        #expect(target == StateRegister(kind: .fields))
        #expect(!merge(&target, source).isIncomplete)
        #expect(target.slots == source.slots)
        #expect(target.vector == source.vector)
    }

    @Test func `Removed fields are forgotten once all peers know, and don't come back from a peer that was away`() {
        var source = StateRegister(kind: .fields)
        let count = StateLimits.removedMax + 10
        for index in 0..<count { source.set(bytes(index), "f\(index)", version(UInt64(index + 1))) }
        source.set(bytes(0), "stays", version(1000))
        var friend = source
        var away = source
        away.set(bytes(7), "f3", version(1500, "z#1"))
        for index in 0..<count { source.set(nil, "f\(index)", version(UInt64(2000 + index))) }
        source.forgetRemoved(knownTo: [friend.vector])
        #expect(source.slots.count == count + 1, "the friend does not know")
        merge(&friend, source, base: friend.vector)
        source.forgetRemoved(knownTo: [friend.vector])
        #expect(source.slots.count < count / 2 + 10)

        let awayBefore = away
        merge(&away, source, base: awayBefore.vector.includes(source.forgotten) ? awayBefore.vector : nil)
        merge(&source, awayBefore)
        merge(&friend, awayBefore)
        merge(&away, friend)
        merge(&source, friend)
        for register in [source, friend, away] {
            let versions = register.slots.values.joined().map(\.version)
            #expect(versions.allSatisfy(register.vector.covers), "a peer has seen all that it holds")
            let live = register.slots.filter { $0.value.last?.bytes != nil }.keys.sorted()
            #expect(live.filter { $0 != "f3" } == ["stays"])
        }
    }

    @Test func `A sender that lacks entries of its own vector gets them again`() {
        var mine = StateRegister(kind: .fields)
        mine.set(bytes(2), "a", version(2))
        let item = StateMessage.Item(name: "a", entry: StateEntry(version: version(1, "b#1"), bytes: bytes(1)))
        #expect(mine.merge([item], has: mine.vector, base: StateVector()).senderLacksSeenEntries)
        #expect(!mine.merge([item], has: StateVector(), base: StateVector()).senderLacksSeenEntries)
    }

    @Test func `A vector is bounded, and keeps the authors of present entries`() {
        var register = StateRegister(kind: .whole)
        register.set(bytes(1), "", version(1, "me#1"))
        var has = StateVector()
        for index in 0..<1000 { has.note(version(UInt64(10 + index), "x\(index)#1")) }
        _ = register.merge([], has: has, base: StateVector())
        #expect(register.vector.stamps.count == StateLimits.authorsMax)
        #expect(register.vector.covers(version(1, "me#1")))
        #expect(register.vector.covers(version(1009, "x999#1")))
    }
}

@Suite struct JSONFieldsTests {
    @Test func `Equal values have equal fields, however they are written`() throws {
        let left = try JSONFields.split(Data(#"{"b": {"y":[1, 2.50,"\" }"], "x":null}, "a\u0041":true}"#.utf8))
        let right = try JSONFields.split(Data(#" {"aA":true,"b":{"x":null,"y":[1,2.50,"\" }"]}}"#.utf8))
        #expect(left == right)
        #expect(left.keys.sorted() == ["aA", "b"])
        #expect(JSONFields.join(left) == Data(#"{"aA":true,"b":{"x":null,"y":[1,2.50,"\" }"]}}"#.utf8))
    }

    @Test(arguments: ["5", "\"a\"", "[1,2]", "null", "{}", "[]"])
    func `JSON other than an object is one field, and is read back completely`(json: String) throws {
        #expect(JSONFields.join(try JSONFields.split(Data(json.utf8))) == Data(json.utf8))
    }

    @Test func `Invalid JSON throws at every length`() throws {
        let json = Array(#"{"a":[1,{"b":"c\\"}],"d":-1.5e3}"#.utf8)
        for length in 0..<json.count {
            #expect(throws: (any Error).self) { try JSONFields.split(Data(json[..<length])) }
        }
        for json in ["{}x", "{\"a\" 1}", "[1 2]", "{1:2}", "{\"a\":}", "[,]", "[1,]"] {
            #expect(throws: (any Error).self, "\(json)") { try JSONFields.split(Data(json.utf8)) }
        }
        #expect(throws: (any Error).self) {
            try JSONFields.split(Data(repeating: UInt8(ascii: "["), count: 100_000))
        }
    }

    @Test func `Every message from a peer is checked`() throws {
        let forms = [
            #"{"k":"whole","l":1,"a":["a"],"h":[1,2]}"#,
            #"{"k":"whole","l":1,"a":[],"h":[],"i":[{"a":0,"s":1}]}"#,
            #"{"k":"whole","l":1,"a":["a"],"h":[1],"i":[{"a":-1,"s":1}]}"#,
            #"{"k":"whole","l":1,"a":["a"],"h":[1],"b":[]}"#,
            #"{"k":"half","l":1,"a":["a"],"h":[1]}"#,
        ]
        let right = Data(#"{"k":"whole","l":1,"a":["a"],"h":[1],"i":[{"a":0,"s":1,"v":"NQ=="}]}"#.utf8)
        let message = try JSONDecoder().decode(StateMessage.self, from: right)
        #expect(message.items.map(\.entry.bytes) == [Data("5".utf8)])
        let again = try JSONDecoder().decode(StateMessage.self, from: JSONEncoder().encode(message))
        #expect(again.items == message.items && again.has == message.has && again.base == nil)
        for form in forms {
            #expect(throws: DecodingError.self) { try JSONDecoder().decode(StateMessage.self, from: Data(form.utf8)) }
        }
    }
}
