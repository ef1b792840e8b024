import Foundation
import MeshIdentity
import Testing

@testable import MeshEngine

@Suite struct EndingTests {
    @Test func `Both devices learn of a session's end, and neither loses an event accepted before it`() throws {
        var pair = try EnginePair.joined()
        let last = try pair.phone.end(with: "finish", at: pair.now)
        let late = try pair.watch.submitLocal("late", at: pair.now)
        #expect(!pair.watch.hasEnded)
        _ = try pair.watch.receive(last)
        _ = try pair.phone.receive(late)
        for _ in 0..<3 { try pair.exchange() }

        #expect(pair.phone.isOver && pair.watch.isOver)
        #expect(pair.phone.state == pair.watch.state && Set(pair.watch.state) == ["finish", "late"])
        #expect(throws: SessionSyncError.sessionEnded) { try pair.phone.submitLocal("more", at: pair.now) }
        #expect(throws: SessionSyncError.sessionEnded) { try pair.watch.submitLocal("more", at: pair.now) }
        #expect(throws: SessionSyncError.sessionEnded) { try pair.watch.end(with: "again", at: pair.now) }
    }

    @Test func `A relaunch remembers the end and whether every member knows of it`() throws {
        var pair = try EnginePair.joined()
        _ = try pair.phone.end(with: "finish", at: pair.now)
        pair.phone = try Self.relaunched(pair.phone)
        #expect(pair.phone.hasEnded && !pair.phone.isOver)
        for _ in 0..<3 { try pair.exchange() }
        #expect(pair.watch.state == ["finish"])
        #expect(try Self.relaunched(pair.phone).isOver && Self.relaunched(pair.watch).isOver)
    }

    @Test func `There is always space for the final event, and the session continues if the reducer rejects it`() throws
    {
        var pair = EnginePair(phone: makeEngine("phone", incarnation: 1, ownUnconfirmedMax: 8))
        for _ in 0..<3 { try pair.exchange() }
        for tap in 0..<8 { _ = try pair.phone.submitLocal("tap \(tap)", at: pair.now) }
        #expect(throws: SessionSyncError.logFull(limit: 8)) { try pair.phone.submitLocal("more", at: pair.now) }
        #expect(throws: (any Error).self) { try pair.phone.end(with: "poison", at: pair.now) }
        #expect(!pair.phone.hasEnded && pair.phone.ownUnconfirmedCount == 8, "the reducer rejected it")
        _ = try pair.phone.end(with: "finish", at: pair.now)
        #expect(pair.phone.state.last == "finish" && pair.phone.hasEnded)
        for _ in 0..<3 { try pair.exchange() }
        #expect(pair.watch.state == pair.phone.state && pair.watch.isOver)
    }

    @Test func `A nonmember's end does not end the session`() throws {
        var pair = try EnginePair.joined()
        var stranger = makeEngine("stranger", incarnation: 3)
        stranger.end()
        stranger.tick(at: pair.now)
        for message in stranger.takeDirectives().outgoing {
            try EnginePair.deliver(message, to: &pair.phone, at: pair.now)
        }
        #expect(!pair.phone.hasEnded)
    }

    private static func relaunched(_ engine: ListEngine) throws -> ListEngine {
        try ListEngine(restoring: engine.image, reducer: ListReducer(), conflictPolicy: NoRepeatPolicy(), seed: 9)
    }
}
