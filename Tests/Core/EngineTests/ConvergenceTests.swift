import Foundation
import MeshIdentity
import Testing

@testable import MeshEngine

@Suite struct ConvergenceTests {
    @Test func `every order of arrival gives the same state`() throws {
        // Three sources of two events each: all 90 interleavings.
        var authors = ["phone", "tablet", "watch"].map { makeEngine($0) }
        let events = try authors.indices.map { author in
            try (0..<2).map { try authors[author].submitLocal("\(author)\($0)", at: noon + Double(($0 + author) % 2)) }
        }
        var states: Set<[String]> = []
        var count = 0
        func deliver(_ next: [Int], _ engine: ListEngine) throws {
            guard next != [2, 2, 2] else {
                count += 1
                states.insert(engine.state)
                return
            }
            for author in 0..<3 where next[author] < 2 {
                var engine = engine
                _ = try engine.receive(events[author][next[author]])
                var next = next
                next[author] += 1
                try deliver(next, engine)
            }
        }
        try deliver([0, 0, 0], makeEngine("desktop"))
        #expect(count == 90)
        #expect(states.count == 1)
        #expect(states.first?.count == 6)
    }

    @Test func `a late event at every depth of a long log lands at its place`() throws {
        for place in 0...100 {
            var watch = makeEngine("watch")
            var phone = makeEngine("phone")
            for number in 0..<100 { _ = try watch.submitLocal("\(number)", at: noon + Double(number)) }
            let late = try phone.submitLocal("late", at: noon + Double(place) - 0.5)
            #expect(try watch.receive(late) == .applied(watch.state))
            #expect(watch.state.count == 101)
            #expect(watch.state[place] == "late")
            #expect(watch.takeApplied().map(\.replayedCount) == [100 - place])
        }
    }

    @Test func `two devices that make only the reference's calls never seal, and agree`() throws {
        var phone = makeEngine("phone")
        var watch = makeEngine("watch")
        for number in 0..<50 {
            let fromPhone = try phone.submitLocal("p\(number)", at: noon + Double(number))
            let fromWatch = try watch.submitLocal("w\(number)", at: noon + Double(number))
            _ = try phone.receive(fromWatch)
            _ = try watch.receive(fromPhone)
        }
        #expect(phone.state == watch.state)
        #expect(!phone.isSealed && !watch.isSealed)
        #expect(phone.confirmedCount == 0)
    }

    @Test func `two devices found a group and confirm the same events`() throws {
        var pair = try EnginePair.joined()
        #expect(pair.phone.isSealed && pair.watch.isSealed)
        #expect(pair.phone.group == pair.phone.source, "the peer with the lower ID founds the group")
        #expect(pair.watch.group == pair.phone.source)
        for number in 0..<40 {
            let fromPhone = try pair.phone.submitLocal("p\(number)", at: pair.now)
            let fromWatch = try pair.watch.submitLocal("w\(number)", at: pair.now)
            _ = try pair.phone.receive(fromWatch)
            _ = try pair.watch.receive(fromPhone)
        }
        for _ in 0..<3 { try pair.exchange() }
        #expect(pair.confirmed["phone"] == pair.phone.state)
        #expect(pair.confirmed["watch"] == pair.phone.state)
        #expect(pair.phone.state.count == 80)
        #expect(pair.phone.chain == pair.watch.chain)
        #expect(pair.phone.ownUnconfirmedCount == 0)
        #expect(pair.alarms.isEmpty)
    }

    @Test func `events from before the founding are in the group`() throws {
        var pair = EnginePair()
        _ = try pair.phone.submitLocal("phone", at: noon)
        _ = try pair.watch.submitLocal("watch", at: noon)
        for _ in 0..<4 { try pair.exchange() }
        #expect(pair.phone.state == pair.watch.state)
        #expect(Set(pair.phone.state) == ["phone", "watch"])
    }

    @Test func `a survivor admits the successor of a lost store, with its events`() throws {
        var pair = try EnginePair.joined()
        _ = try pair.watch.receive(pair.phone.submitLocal("before", at: pair.now))
        try pair.exchange()
        pair.watch = makeEngine("watch", incarnation: 77)
        _ = try pair.watch.submitLocal("meanwhile", at: pair.now)
        for _ in 0..<5 { try pair.exchange() }
        #expect(pair.watch.isSealed)
        #expect(pair.watch.state == ["before", "meanwhile"])
        #expect(pair.phone.state == pair.watch.state)
        #expect(pair.phone.membership.open.map(\.source) == [pair.phone.source, pair.watch.source])
        #expect(pair.phone.membership.closed.map(\.source.incarnation) == [2])
    }
}
