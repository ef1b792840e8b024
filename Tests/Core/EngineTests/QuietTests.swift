import Foundation
import MeshIdentity
import Testing

@testable import MeshEngine

/// Rule 2 of Docs/Internals/Convergence.md: an idle promise costs no write.
struct QuietTests {
    @Test func `Two idle members write nothing, however long`() throws {
        var pair = try EnginePair.joined()
        _ = try pair.watch.receive(try pair.phone.submitLocal("a", at: pair.now))
        for _ in 0..<6 { try pair.exchange() }
        #expect(pair.phone.unconfirmedCount == 0 && pair.watch.unconfirmedCount == 0)
        let lease = pair.phone.head.clockLease
        for _ in 0..<360 {
            pair.now += 10
            #expect(try pair.exchangeCountingWrites() == 0)
        }
        #expect(pair.phone.head.clockLease == lease)
    }

    @Test func `After a silence an event is confirmed as usual, and a relaunch repeats no promise`() throws {
        var pair = try EnginePair.joined()
        _ = try pair.watch.receive(try pair.phone.submitLocal("a", at: pair.now))
        for _ in 0..<6 { try pair.exchange() }
        let stored = pair.phone.image
        var promised = HybridTimestamp.zero
        for _ in 0..<20 {
            pair.now += 300
            pair.phone.tick(at: pair.now)
            for case .control(let control, _) in pair.phone.takeDirectives().outgoing {
                promised = max(promised, control.metadata.promise?.stamp ?? .zero)
                try pair.watch.receiveControl(control, at: pair.now)
            }
        }
        // The lease written before the silence covers all promises made during it.
        let relaunched = try ListEngine(
            restoring: stored, reducer: ListReducer(), conflictPolicy: NoRepeatPolicy(), seed: 5)
        #expect(relaunched.head.clock >= promised)
        pair.phone = relaunched
        _ = try pair.phone.receive(try pair.watch.submitLocal("b", at: pair.now))
        _ = try pair.watch.receive(try pair.phone.submitLocal("c", at: pair.now))
        for _ in 0..<6 { try pair.exchange() }
        #expect(pair.confirmed["phone"] == pair.confirmed["watch"])
        #expect(pair.confirmed["phone"]?.count == 3)
    }

    @Test func `A member that announces silence stays in reach for that time`() throws {
        var group = EngineGroup(paired: ["a", "b", "c"])
        for name in group.names { group[name].announce(silenceMilliseconds: 300_000) }
        _ = try group.run(upTo: 2, suspects: false) { _ in false }
        group["a"].announce(silenceMilliseconds: 300_000)
        group.now += 299
        group["a"].tick(at: group.now)
        #expect((1...2).allSatisfy { group["a"].isInReach($0) })
        group.now += 62
        group["a"].tick(at: group.now)
        #expect((1...2).allSatisfy { !group["a"].isInReach($0) })
    }
}

extension EnginePair {
    /// - Returns: the number of writes that both engines requested.
    fileprivate mutating func exchangeCountingWrites() throws -> Int {
        var count = 0
        phone.tick(at: now)
        watch.tick(at: now)
        for _ in 0..<6 {
            let (ofPhone, ofWatch) = (phone.takeDirectives(), watch.takeDirectives())
            count += [ofPhone, ofWatch].count { $0.persist != nil }
            for message in ofPhone.outgoing { try Self.deliver(message, to: &watch, at: now) }
            for message in ofWatch.outgoing { try Self.deliver(message, to: &phone, at: now) }
            if ofPhone.outgoing.isEmpty, ofWatch.outgoing.isEmpty { break }
        }
        return count
    }
}
