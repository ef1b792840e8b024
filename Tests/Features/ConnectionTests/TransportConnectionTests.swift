import Foundation
import MeshBase
import MeshIdentity
import MeshLoopbackTransport
import MeshStorage
import MeshTestSupport
import MeshTransport
import MeshWire
import Testing

@testable import MeshConnection

@Suite struct TransportConnectionTests {
    @Test func `Stamps rise whatever the wall clock and the peers say`() {
        let clock = WallClock([10, 10, 5, 11, 0])
        let connection = TransportConnection(transport: loopback(), clock: clock)
        var highest = HybridTimestamp.zero
        for step in 0..<8 {
            let stamp = connection.stamp()
            #expect(stamp > highest)
            highest = stamp
            if step == 2 {
                highest = HybridTimestamp(milliseconds: 50_000)
                connection.observe(highest)
                connection.observe(.zero)
            }
        }
        #expect(connection.sessionID == TransportConnection.sharedScope)
    }

    @Test func `Stamps drawn by many tasks are distinct`() async {
        let connection = TransportConnection(transport: loopback(), clock: WallClock([1]))
        let stamps = await withTaskGroup(of: [HybridTimestamp].self) { group in
            for _ in 0..<8 { group.addTask { (0..<500).map { _ in connection.stamp() } } }
            return await group.reduce(into: []) { $0 += $1 }
        }
        #expect(Set(stamps).count == 4000)
    }

    @Test func `An id belongs to one type`() throws {
        let connection = TransportConnection(transport: loopback())
        try connection.claim("settings", for: Int.self)
        try connection.claim("settings", for: Int.self)
        #expect(throws: ConnectionError.idInUse(id: "settings")) { try connection.claim("settings", for: String.self) }
    }

    @Test func `Envelopes wait for their handler in order, and don't delay other features`() async throws {
        let transport = loopback()
        let connection = TransportConnection(transport: transport)
        for sequence in 1...5 as ClosedRange<UInt64> {
            try await transport.send(envelope(sequence, "sessionmesh.a"), mode: .realtimeBestEffort, to: nil)
        }
        let other = Recorder()
        let otherRoute = try connection.route(featureID: "sessionmesh.b") { other.note($0) }
        try await transport.send(envelope(1, "sessionmesh.b"), mode: .realtimeBestEffort, to: nil)
        #expect(await other.sequences(1) == [1])
        let recorder = Recorder()
        var route: EnvelopeRoute? = try connection.route(featureID: "sessionmesh.a") { recorder.note($0) }
        #expect(throws: ConnectionError.idInUse(id: "sessionmesh.a")) {
            try connection.route(featureID: "sessionmesh.a") { _ in }
        }
        try await transport.send(envelope(6, "sessionmesh.a"), mode: .realtimeBestEffort, to: nil)
        #expect(await recorder.sequences(6) == [1, 2, 3, 4, 5, 6])
        route = nil
        _ = route
        _ = try connection.route(featureID: "sessionmesh.a") { _ in }
        withExtendedLifetime(otherRoute) {}
        await transport.close()
    }

    @Test func `A bounded number wait for a handler, and the oldest are dropped`() async throws {
        let transport = loopback()
        let connection = TransportConnection(transport: transport)
        let total = UInt64(WaitingEnvelopes.envelopesMax + 10)
        for sequence in 1...total {
            try await transport.send(envelope(sequence, "sessionmesh.a"), mode: .realtimeBestEffort, to: nil)
        }
        let mark = Recorder()
        let route = try connection.route(featureID: "sessionmesh.mark") { mark.note($0) }
        try await transport.send(envelope(1, "sessionmesh.mark"), mode: .realtimeBestEffort, to: nil)
        _ = await mark.sequences(1)
        #expect(connection.droppedCount == 10)
        withExtendedLifetime(route) {}
        await transport.close()
    }

    @Test func `Waiting envelopes have bounded bytes, and taking them frees space`() {
        let payload = EncodedPayload(bytes: [UInt8](repeating: 1, count: 1 << 20), codec: CompactCodec())
        var waiting = WaitingEnvelopes(nil, [])
        for round in 1...2 as ClosedRange<UInt64> {
            let refused = (0..<32 as Range<UInt64>).compactMap { number in
                let metadata = SessionSyncMetadata(
                    sessionID: TransportConnection.sharedScope, featureID: "feature \(number % 4)",
                    sourcePeerID: "phone", sequence: round * 100 + number,
                    causalTimestamp: Date(timeIntervalSince1970: 1), payloadType: "test")
                return waiting.keep(AnySessionSyncEnvelope(metadata: metadata, payload: payload))
            }
            // Names count too, so a sixteenth doesn't fit.
            #expect(refused.count == 17)
            #expect((0..<4).reduce(0) { $0 + waiting.take("feature \($1)").count } == 15)
        }
    }

    @Test func `Waiting envelopes survive a relaunch, in order, until a handler has returned`() async throws {
        let store = MemoryStore()
        let unwanted = TransportConnection(transport: loopback(), store: store)
        for sequence in 1...3 as ClosedRange<UInt64> {
            await unwanted.pass(try envelope(sequence, "sessionmesh.a"))
            await unwanted.pass(try envelope(sequence, "sessionmesh.b"))
        }
        // The transport offers message 3 again, because the process ended too soon after its arrival.
        let cutOff = TransportConnection(transport: loopback(), store: store)
        await cutOff.pass(try envelope(3, "sessionmesh.a"))
        await cutOff.pass(try envelope(4, "sessionmesh.a"))
        let begun = Recorder()
        let never = AsyncStream<Never>.makeStream()
        let cutRoute = try cutOff.route(featureID: "sessionmesh.a") { envelope in
            begun.note(envelope)
            if envelope.metadata.sequence == 2 { for await _ in never.stream {} }
        }
        #expect(await begun.sequences(2) == [1, 2])

        let next = TransportConnection(transport: loopback(), store: store)
        let recorder = Recorder()
        let route = try next.route(featureID: "sessionmesh.a") { recorder.note($0) }
        await next.pass(try envelope(5, "sessionmesh.a"))
        #expect(await recorder.sequences(4) == [2, 3, 4, 5])
        #expect(try WaitingEnvelopes.journals(in: store) == ["sessionmesh.b"])
        withExtendedLifetime((unwanted, cutRoute, route, never)) {}
    }

    /// Regression: the queue of a released route called its dead handler for each envelope, and then deleted them.
    @Test(arguments: [false, true])
    func `Envelopes behind a slow handler wait for the next route once theirs is released`(hasStore: Bool) async throws
    {
        let store = MemoryStore()
        let connection = TransportConnection(transport: loopback(), store: hasStore ? store : nil)
        for sequence in 1...4 as ClosedRange<UInt64> {
            await connection.pass(try envelope(sequence, "sessionmesh.a"))
        }
        let (begun, gate) = (Recorder(), AsyncStream<Void>.makeStream())
        var route: EnvelopeRoute? = try connection.route(featureID: "sessionmesh.a") { envelope in
            begun.note(envelope)
            if envelope.metadata.sequence == 1 { for await _ in gate.stream {} }
        }
        #expect(await begun.sequences(1) == [1])
        let last = try envelope(5, "sessionmesh.a")
        let passing = Task { await connection.pass(last) }
        for _ in 0..<100 { await Task.yield() }
        withExtendedLifetime(route) {}
        route = nil
        gate.continuation.finish()
        await passing.value
        #expect(await begun.sequences(1) == [1])
        if hasStore {
            // The store also keeps the envelope whose handler hadn't returned.
            #expect(try store.catalog(prefix: WaitingEnvelopes.root).journals.map(\.positions) == [1..<6])
        }
        let recorder = Recorder()
        let next = try connection.route(featureID: "sessionmesh.a") { recorder.note($0) }
        await connection.pass(try envelope(6, "sessionmesh.a"))
        #expect(await recorder.sequences(5) == [2, 3, 4, 5, 6])
        await eventually { (try? WaitingEnvelopes.journals(in: store)) == [] }
        #expect(try WaitingEnvelopes.journals(in: store).isEmpty)
        withExtendedLifetime(next) {}
    }

    @Test func `An envelope dropped for lack of space leaves the store too, and is reported`() async throws {
        let store = MemoryStore()
        let connection = TransportConnection(transport: loopback(), store: store)
        let events = Locked(0)
        let diagnostics = connection.diagnostics.subscribe()
        let listener = Task {
            for await event in diagnostics {
                if case .deliveryFailed("test", _, willRetry: false) = event { events.withLock { $0 += 1 } }
            }
        }
        let total = UInt64(WaitingEnvelopes.envelopesMax + 10)
        for sequence in 1...total { await connection.pass(try envelope(sequence, "sessionmesh.a")) }
        for other in 0..<WaitingEnvelopes.featuresMax {
            await connection.pass(try envelope(1, "sessionmesh.other\(other)"))
        }
        #expect(connection.droppedCount == 11)
        await eventually { events.withLock { $0 } >= 11 }
        #expect(events.withLock { $0 } == 11)
        listener.cancel()

        let next = TransportConnection(transport: loopback(), store: store)
        let recorder = Recorder()
        let route = try next.route(featureID: "sessionmesh.a") { recorder.note($0) }
        await next.pass(try envelope(total + 1, "sessionmesh.a"))
        #expect(await recorder.sequences(WaitingEnvelopes.envelopesMax + 1) == Array(11...total + 1))
        #expect(try WaitingEnvelopes.journals(in: store).count == WaitingEnvelopes.featuresMax - 1)
        withExtendedLifetime(route) {}
    }

    @Test func `Envelopes of a failing store wait in memory, behind those that it returns later`() async throws {
        let store = FailingStore()
        let earlier = TransportConnection(transport: loopback(), store: store)
        await earlier.pass(try envelope(1, "sessionmesh.a"))
        store.fails = true
        let connection = TransportConnection(transport: loopback(), store: store)
        await connection.pass(try envelope(2, "sessionmesh.a"))
        store.fails = false
        await connection.pass(try envelope(3, "sessionmesh.a"))
        let recorder = Recorder()
        let route = try connection.route(featureID: "sessionmesh.a") { recorder.note($0) }
        #expect(await recorder.sequences(3) == [1, 2, 3])
        withExtendedLifetime(route) {}
    }

    @Test func `A connection that is released during a batch passes on the rest of it`() async throws {
        let transport = BatchTransport(loopback())
        var connection: TransportConnection? = TransportConnection(transport: transport)
        let recorder = Recorder()
        let gate = AsyncStream<Void>.makeStream()
        let route = try connection?.route(featureID: "sessionmesh.a") { envelope in
            recorder.note(envelope)
            if envelope.metadata.sequence == 1 { for await _ in gate.stream {} }
        }
        transport.batches.continuation.yield([try envelope(1, "sessionmesh.a"), try envelope(2, "sessionmesh.a")])
        #expect(await recorder.sequences(1) == [1])
        weak let released = connection
        connection = nil
        gate.continuation.finish()
        #expect(await recorder.sequences(2) == [1, 2])
        transport.batches.continuation.finish()
        await eventually { released == nil }
        #expect(released == nil)
        withExtendedLifetime(route) {}
    }

    @Test func `A connection starts its transport once it listens, and lists the reason if that fails`() async throws {
        let transport = StartingTransport(loopback())
        let connection = TransportConnection(transport: transport)
        #expect(transport.starts.withLock { $0 } == [true])
        #expect(connection.problems.isEmpty)
        let broken = StartingTransport(loopback(), error: StorageError(.unavailable, "no port"))
        let problems = TransportConnection(transport: broken).problems
        #expect(problems.map(\.code) == [.transportFailed])
        #expect(problems.first?.message.contains("can't connect: No port") == true)
    }

    @Test func `Features over one transport share its connection, or the app's own connection`() {
        let transport = loopback()
        let own = TransportConnection(transport: transport, store: MemoryStore())
        #expect(TransportConnection.shared(over: transport) === own)
        let other = loopback()
        let shared = TransportConnection.shared(over: other)
        #expect(TransportConnection.shared(over: other) === shared && shared !== own)
        // A connection for one session isn't shared with features that belong to no session.
        let third = loopback()
        let scoped = TransportConnection(transport: third, sessionID: UUID())
        #expect(TransportConnection.shared(over: third) !== scoped)
    }

    private func loopback() -> LoopbackSessionSyncTransport {
        LoopbackSessionSyncTransport(
            localPeer: SessionPeer(id: "phone", deviceClass: .phone, appInstanceID: "1", topology: .pairedCompanion))
    }

    private func envelope(_ sequence: UInt64, _ feature: String) throws -> AnySessionSyncEnvelope {
        try AnySessionSyncEnvelope(
            SessionSyncEnvelope(
                metadata: SessionSyncMetadata(
                    sessionID: TransportConnection.sharedScope, featureID: feature, sourcePeerID: "phone",
                    sequence: sequence, causalTimestamp: Date(timeIntervalSince1970: 1), payloadType: "test"),
                payload: sequence))
    }
}

extension WaitingEnvelopes {
    /// The features with entries in the store.
    fileprivate static func journals(in store: any SessionStore) throws -> [String] {
        try store.catalog(prefix: root).journals.map { String($0.name.dropFirst(root.count)) }
    }
}

/// An in-memory store that neither reads nor writes while `fails` is true.
private final class FailingStore: SessionStore {
    private let base = MemoryStore()
    private let isFailing = Locked(false)

    var fails: Bool {
        get { isFailing.withLock { $0 } }
        set { isFailing.withLock { $0 = newValue } }
    }

    private func open() throws -> MemoryStore {
        if fails { throw StorageError(.unavailable, "not now") }
        return base
    }

    var durability: StoreDurability { .memory }
    func commit(_ batch: StoreBatch) throws { try open().commit(batch) }
    func value(for key: String) throws -> [UInt8]? { try open().value(for: key) }
    func catalog(prefix: String) throws -> StoreCatalog { try open().catalog(prefix: prefix) }
    func entries(of journal: String, from position: UInt64, maxBytes: Int) throws -> [StoreEntry] {
        try open().entries(of: journal, from: position, maxBytes: maxBytes)
    }
    func close() {}
}

/// A clock that returns the given wall times in order, then 1970.
private final class WallClock: DeliveryClock {
    private let walls: Locked<[TimeInterval]>

    init(_ walls: [TimeInterval]) { self.walls = Locked(walls) }

    var elapsed: Duration { .zero }
    var wall: Date { Date(timeIntervalSince1970: walls.withLock { $0.isEmpty ? 0 : $0.removeFirst() }) }
    func wake(at deadline: Duration, _ body: @escaping @Sendable () -> Void) {}
}

private final class Recorder: Sendable {
    private let noted = Locked<[UInt64]>([])

    func note(_ envelope: AnySessionSyncEnvelope) { noted.withLock { $0.append(envelope.metadata.sequence) } }

    /// Waits for at least `count` envelopes.
    func sequences(_ count: Int) async -> [UInt64] {
        await eventually { noted.withLock { $0.count >= count } }
        return noted.withLock { $0 }
    }
}

/// Gives its subscriber the batches of a stream.
private final class BatchTransport: TransportWrapper {
    let wrapped: any SessionSyncTransport
    let batches = AsyncStream<[AnySessionSyncEnvelope]>.makeStream()

    init(_ wrapped: any SessionSyncTransport) { self.wrapped = wrapped }

    func envelopeBatches(where isWanted: @escaping @Sendable (SessionSyncMetadata) -> Bool) -> EnvelopeBatches {
        EnvelopeBatches { [batches] _ in
            for await batch in batches.stream { return batch }
            return nil
        }
    }
}

/// Records at each start whether envelopes have a subscriber. Throws if it has an error.
private final class StartingTransport: TransportWrapper {
    let wrapped: any SessionSyncTransport
    let starts = Locked<[Bool]>([])
    private let isRead = Locked(false)
    private let error: StorageError?

    init(_ wrapped: any SessionSyncTransport, error: StorageError? = nil) {
        (self.wrapped, self.error) = (wrapped, error)
    }

    func start() throws {
        let isRead = isRead.withLock { $0 }
        starts.withLock { $0.append(isRead) }
        if let error { throw error }
        try wrapped.start()
    }

    func envelopeBatches(where isWanted: @escaping @Sendable (SessionSyncMetadata) -> Bool) -> EnvelopeBatches {
        isRead.withLock { $0 = true }
        return wrapped.envelopeBatches(where: isWanted)
    }
}
