import Foundation
import MeshBase
import MeshIdentity
import MeshSimulatedWatch
import MeshWatchConnectivityTransport
import Testing

/// The single application context, and its writers.
@Suite struct ContextTests {
    /// Sets a key in the context, as one of its users does.
    typealias Setter = (_ key: String, _ value: Data) throws -> Void

    @Test func `W10 two keys set together both arrive, and earlier keys stay`() throws {
        #expect(
            try complaint { session, clock in
                let writer = WatchSessionMultiplexer.of(session, clock: clock).context
                return { try writer.set($1, for: $0) }
            } == nil)
        #expect(
            try complaint { session, _ in
                let snapshot = SeparateContexts(session)
                return { try snapshot.set($1, for: $0) }
            } != nil)
    }

    /// The rule: every key that is set is in the context that arrives, together with the keys of others, even the app's.
    private func complaint(
        about make: (WCSession, SimulatedWatchClock) throws -> Setter
    ) throws -> String? {
        let pair = SimulatedWatchPair(seed: 1, conditions: .ideal)
        let (phone, watch) = (try #require(pair.phone.launch()), try #require(pair.watch.launch()))
        let (app, receiver) = (Recorder(phone), Recorder(watch))
        pair.runUntilIdle()
        try phone.updateApplicationContext(["app": 1])
        pair.runUntilIdle()
        let first = try make(phone, pair.clock)
        let second = try make(phone, pair.clock)
        try first("one", Data([1]))
        try second("two", Data([2]))
        pair.advance(by: .seconds(1))
        let received = watch.receivedApplicationContext
        withExtendedLifetime((app, receiver)) {}
        for (key, byte) in [("one", UInt8(1)), ("two", 2)] where received[key] as? Data != Data([byte]) {
            return "'\(key)' is missing"
        }
        return received["app"] as? Int == 1 ? nil : "the app's content is gone"
    }

    @Test func `Changes made while a write is pending go together`() throws {
        let (pair, writer, _) = try running()
        for value in 0..<100 as Range<UInt8> { try writer.set(Data([value]), for: "key \(value % 10)") }
        pair.advance(by: .seconds(1))
        #expect(pair.statistics.contextsDelivered == 1)
    }

    @Test func `An equal context is delivered again on request`() throws {
        let (pair, writer, _) = try running()
        try writer.set(Data([1]), for: "key")
        pair.advance(by: .seconds(1))
        writer.writeAgain()
        pair.advance(by: .seconds(1))
        #expect(pair.statistics.contextsDelivered == 2)
    }

    @Test func `A value that doesn't fit into the context is refused, and all others are delivered`() throws {
        let (pair, writer, watch) = try running()
        let limit = PayloadLimit.wcSessionApplicationContext
        try writer.set(Data(count: 200_000), for: "large")
        try writer.set(Data([1]), for: "grows")
        #expect {
            try writer.set(Data(count: 100_000), for: "grows")
        } throws: { error in
            guard
                case .payloadTooLarge(let bytes, limit.bytes, "wcsession.applicationContext")? = error
                    as? SessionSyncError
            else { return false }
            return bytes > 300_000
        }
        try writer.set(Data([3]), for: "small")
        pair.advance(by: .seconds(1))
        let received = watch.receivedApplicationContext
        #expect(received["large"] as? Data == Data(count: 200_000))
        #expect(received["grows"] as? Data == Data([1]))
        #expect(received["small"] as? Data == Data([3]))
    }

    @Test func `A value set before activation is written after it, and a failed write is repeated`() throws {
        let pair = SimulatedWatchPair(seed: 1, conditions: .ideal)
        let (phone, watch) = (try #require(pair.phone.launch()), try #require(pair.watch.launch()))
        let receiver = Recorder(watch)
        let multiplexer = WatchSessionMultiplexer.of(phone, clock: pair.clock)
        pair.watch.isPaired = false
        try multiplexer.context.set(Data([1]), for: "key")
        pair.advance(by: .seconds(1))
        multiplexer.activate()
        pair.advance(by: .seconds(5))
        #expect(watch.receivedApplicationContext.isEmpty)
        pair.watch.isPaired = true
        pair.advance(by: .seconds(40))
        #expect(watch.receivedApplicationContext["key"] as? Data == Data([1]))
        withExtendedLifetime(receiver) {}
    }

    @Test func `A rejected write is repeated at a fixed pace, however often the session changes`() throws {
        let pair = SimulatedWatchPair(seed: 1, conditions: .ideal)
        let session = InjectedSession()
        let multiplexer = WatchSessionMultiplexer.of(session, clock: pair.clock)
        try multiplexer.context.set(Data([1]), for: "key")
        for _ in 1...20 {
            session.delegate?.sessionReachabilityDidChange(.default)
            pair.advance(by: .seconds(1))
        }
        pair.advance(by: .seconds(60))
        let count = session.refusedContextCount.withLock { $0 }
        pair.advance(by: .seconds(300))
        #expect(session.refusedContextCount.withLock { $0 } - count == 10)
    }

    private func running() throws -> (SimulatedWatchPair, ApplicationContextWriter, WCSession) {
        let pair = SimulatedWatchPair(seed: 1, conditions: .ideal)
        let (phone, watch) = (try #require(pair.phone.launch()), try #require(pair.watch.launch()))
        let (multiplexer, other) = (
            WatchSessionMultiplexer.of(phone, clock: pair.clock), WatchSessionMultiplexer.of(watch, clock: pair.clock)
        )
        multiplexer.activate()
        other.activate()
        pair.advance(by: .seconds(1))
        Self.kept.withLock { $0 += [multiplexer, other] }
        return (pair, multiplexer.context, watch)
    }

    /// Multiplexers that must live as long as their sessions, because sessions hold their delegates weakly.
    private static let kept = Locked<[WatchSessionMultiplexer]>([])
}
