import MeshBase
import MeshIdentity
import MeshStorage
import MeshTestSupport
import MeshTesting
import MeshTransport
import MeshWire
import Testing

@testable import MeshDelivery

/// Both sides have stores and relaunch again and again. Some stores go back to an earlier copy of themselves.
@Suite struct RestoredStoreTests {
    @Test(arguments: LinkKind.allCases)
    func `A store that went back loses no message sent from then on`(kind: LinkKind) async throws {
        let ends = Ends(kind)
        try ends.launch("right")
        try ends.launch("left")
        try await ends.send(1...3)
        await ends.expect([1, 2, 3])
        ends.kill("right")
        try await ends.send(4...4)
        let copy = try #require(ends.stores["left"]).copy()
        try ends.launch("right")
        try await ends.send(5...8)
        await ends.expect(Array(1...8))

        ends.kill("left")
        ends.stores["left"] = copy
        try ends.launch("left")
        try await ends.send(101...103)
        await ends.expect(Array(1...8) + [101, 102, 103])
        // The peer has the messages that the copy considers unacknowledged. The store's reset is reported once.
        #expect(ends.left?.shell.state.withLock { $0.core.peers[0].outstandingCount } == 0)
        #expect(await ends.reportCount { if case .storeWentBack("right") = $0 { true } else { false } } == 1)
    }

    @Test(arguments: LinkKind.allCases)
    func `Messages that several launches accepted arrive once, in the order of the launches`(kind: LinkKind)
        async throws
    {
        let ends = Ends(kind)
        try ends.launch("right")
        try ends.launch("left")
        try await ends.send(1...1)
        await ends.expect([1])
        ends.kill("right")
        for launch in 0..<4 as Range<UInt64> {
            try await ends.send(launch * 3 + 2...launch * 3 + 4)
            ends.kill("left")
            try ends.launch("left")
        }
        try await ends.send(14...14)
        try ends.launch("right")
        try await ends.send(15...15)
        await ends.expect(Array(1...15))
        let left = try #require(ends.left?.shell.state.withLock { $0.core.peers[0] })
        #expect(left.outstandingCount == 0)
        #expect(left.channels.count == 1)
        let journals = try #require(try ends.stores["left"]?.catalog(prefix: "delivery/to/").journals)
        #expect(journals.map(\.positions.isEmpty) == [true])
    }

    @Test(arguments: LinkKind.allCases)
    func `Two hundred launches leave as much data as one`(kind: LinkKind) async throws {
        let ends = Ends(kind)
        try ends.launch("right")
        for launch in 1...200 as ClosedRange<UInt64> {
            if launch % 20 == 11 {
                await ends.expect(Array(1..<launch))
                ends.kill("right")
            }
            try ends.launch("left")
            try await ends.send(launch...launch)
            if launch % 20 == 0 { try ends.launch("right") }
            if launch < 200 { ends.kill("left") }
        }
        await ends.expect(Array(1...200))
        ends.kill("left")
        let left = try #require(try ends.stores["left"]?.catalog(prefix: "delivery/"))
        #expect(left.keys.count == 2 && left.journals.count == 1, "\(left)")
        let right = try #require(try ends.stores["right"]?.catalog(prefix: "delivery/from/"))
        #expect(right.keys.count == DeliveryPeer.outboxesMax)
    }

    @Test func `A peer without a store can still be received after eleven hundred launches`() async throws {
        let ends = Ends(.stream)
        ends.stores["left"] = nil
        try ends.launch("right")
        for launch in 1...1100 as ClosedRange<UInt64> {
            try ends.launch("left")
            try await ends.send(launch...launch)
            ends.kill("left")
        }
        await ends.expect(Array(1...1100))
        ends.kill("right")
        try ends.launch("right")
        #expect(ends.transports["right"]?.shell.state.withLock { $0.core.peers[0].outboxes.count } == 64)
    }

    @Test(arguments: LinkKind.allCases)
    func `The newest snapshot of a store that went back arrives, and one of each feature is kept`(
        kind: LinkKind
    ) async throws {
        let ends = Ends(kind)
        try ends.launch("right")
        try ends.launch("left")
        try await ends.left?.sendSnapshot(snapshot(1), mode: .latestSnapshot, to: nil)
        let copy = try #require(ends.stores["left"]).copy()
        for revision in 2...5 as ClosedRange<UInt64> {
            try await ends.left?.sendSnapshot(snapshot(revision), mode: .latestSnapshot, to: nil)
        }
        ends.clock.advance(by: .seconds(1))
        #expect(ends.transports["right"]?.latestPeerSnapshot(featureID: "workout")?.revision == 5)
        ends.kill("left")
        ends.stores["left"] = copy
        try ends.launch("left")
        try await ends.left?.sendSnapshot(snapshot(6), mode: .latestSnapshot, to: nil)
        ends.clock.advance(by: .seconds(1))
        ends.kill("right")
        #expect(try ends.stores["right"]?.catalog(prefix: "delivery/newest/").keys.count == 1)
        try ends.launch("right")
        #expect(ends.transports["right"]?.latestPeerSnapshot(featureID: "workout")?.revision == 6)
    }

    @Test func `A late snapshot of an earlier launch replaces no newer one in the store`() throws {
        var core = try meeting(isDurable: true)
        for (outbox, version, revision) in [(1, 1, 4), (2, 1, 6), (1, 2, 5), (2, 2, 7)] as [(UInt32, UInt64, UInt64)] {
            let mark = WireMark(outbox: outbox, sequence: version, first: version, isLatest: true)
            try core.receive(
                WireFrame(.snapshot(snapshot(revision, from: "right")), mark: mark), on: .stream, from: "link", now)
        }
        let directives = core.takeDirectives()
        let kept = directives.changes.compactMap {
            if case .newest(_, let snapshot, _) = $0 { snapshot.revision } else { nil }
        }
        #expect(kept == [4, 6, 7])
        #expect(directives.arrivals.count == 4)
    }

    @Test func `Messages that wait for space precede the next launch's messages of the same feature`() throws {
        var core = try meeting(isDurable: false)
        core.availableCount = 0
        try core.receive(frame(1, outbox: 1, sequence: 1), on: .stream, from: "link", now)
        core.availableCount = 1
        try core.receive(frame(1, outbox: 2, sequence: 2), on: .stream, from: "link", now)
        #expect(core.takeDirectives().arrivals.isEmpty)
        core.tick(now)
        core.availableCount = 1
        core.tick(now)
        let sequences = core.takeDirectives().arrivals.compactMap { arrival in
            if case .durable(let envelope) = arrival { envelope.metadata.sequence } else { nil }
        }
        #expect(sequences == [1, 2])
    }

    @Test func `A store of an earlier version is read without loss, and its outbox isn't reused`()
        async throws
    {
        let ends = Ends(.stream)
        ends.stores = ["left": try EarlierStore.left(), "right": try EarlierStore.right()]
        try ends.launch("right")
        #expect(ends.transports["right"]?.latestPeerSnapshot(featureID: "workout")?.revision == 1)
        try ends.launch("left")
        #expect(ends.left?.shell.state.withLock { $0.core.outbox } != 0x0BFC_1E42)
        try await ends.send(6...6)
        try await ends.left?.sendSnapshot(snapshot(2), mode: .latestSnapshot, to: nil)
        await ends.expect(Array(1...6))
        #expect(ends.transports["right"]?.latestPeerSnapshot(featureID: "workout")?.revision == 2)
        for store in ends.stores.values { #expect(try store.value(for: "delivery/outbox") == nil) }
        #expect(try ends.stores["right"]?.catalog(prefix: "delivery/newest/").keys.count == 1)
    }

    @Test func `One of a feature's snapshots stored by an earlier version is kept`() async throws {
        let ends = Ends(.stream)
        let right = try EarlierStore.right()
        var batch = StoreBatch()
        batch.set(try #require(try right.value(for: "delivery/newest/2")), for: "delivery/newest/9")
        try right.commit(batch)
        ends.stores["right"] = right
        try ends.launch("right")
        try ends.launch("left")
        try await ends.left?.sendSnapshot(snapshot(2), mode: .latestSnapshot, to: nil)
        ends.clock.advance(by: .seconds(1))
        #expect(try right.catalog(prefix: "delivery/newest/").keys.count == 1)
    }

    @Test func `A forgotten peer that returns gets everything, in the same launch`() async throws {
        let ends = Ends(.stream)
        try ends.launch("right")
        try ends.launch("left")
        try await ends.send(1...3)
        await ends.expect([1, 2, 3])
        ends.memory.disconnect()
        ends.left?.forget(peer("right"))
        ends.memory.connect()
        ends.clock.advance(by: .seconds(1))
        try await ends.send(4...5)
        await ends.expect(Array(1...5))
    }

    private let now = DeliveryTime(elapsed: 1, wall: 1_767_225_600_000)

    /// A core that has a connection to `right`.
    private func meeting(isDurable: Bool) throws -> DeliveryCore {
        var settings = DeliveryCore.Settings(lanes: [.stream], codec: 2, codecs: [2])
        settings.isDurable = isDurable
        var core = DeliveryCore(localPeer: peer("left"), settings: settings, outbox: 1)
        core.connected("link", as: nil, now)
        try core.receive(WireFrame(.hello(WireHello(peer: peer("right"), codecs: [2]))), on: .stream, from: "link", now)
        _ = core.takeDirectives()
        return core
    }

    private func frame(_ number: UInt64, outbox: UInt32, sequence: UInt64) throws -> WireFrame {
        WireFrame(
            .envelope(try encodedEnvelope(sequence, feature: "workout")),
            mark: WireMark(outbox: outbox, sequence: number, first: 1))
    }
}

enum LinkKind: CaseIterable {
    case stream, datagram, kept
}

/// Two devices whose apps launch and are killed, in virtual time.
private final class Ends {
    let clock = ManualClock()
    let memory: MemoryWire
    private let kept: KeptWire?
    var stores: [String: MemoryStore] = ["left": MemoryStore(), "right": MemoryStore()]
    private(set) var transports: [String: LinkTransport] = [:]
    private var launches: UInt64 = 0
    private var arrivals: [Log<AnySessionSyncEnvelope>] = []
    private var diagnostics: [Log<SessionDiagnosticEvent>] = []

    init(_ kind: LinkKind) {
        memory = MemoryWire(lanes: [kind == .datagram ? .datagram : .stream: .deliveryMessage])
        kept = kind == .kept ? KeptWire([.queue]) : nil
    }

    var left: LinkTransport? { transports["left"] }

    func launch(_ end: String) throws {
        launches += 1
        var configuration = DeliveryConfiguration()
        configuration.seed = launches << 32
        let isLeft = end == "left"
        let link = kept?.link(of: end)
        let transport = try LinkTransport(
            localPeer: peer(end), link: link ?? (isLeft ? memory.left : memory.right), configuration: configuration,
            store: stores[end], clock: clock)
        transports[end] = transport
        if isLeft { diagnostics.append(Log(transport.diagnosticEvents())) }
        if !isLeft { arrivals.append(Log(transport.receiveEnvelopes())) }
        try transport.start()
        if kept == nil, transports.count == 2 { memory.connect() }
        clock.advance(by: .seconds(1))
    }

    func kill(_ end: String) {
        clock.advance(by: .seconds(1))
        guard let transport = transports.removeValue(forKey: end) else { return }
        memory.disconnect()
        if let kept { kept.kill(end, transport) } else { transport.abandon() }
    }

    func send(_ sequences: ClosedRange<UInt64>) async throws {
        for sequence in sequences {
            try await left?.send(envelope(sequence), mode: .reliableEventually, to: peer("right"))
        }
        clock.advance(by: .milliseconds(100))
    }

    /// Expects that the launches of the right side together receive these, and nothing else within half a minute.
    func expect(_ sequences: [UInt64], _ location: SourceLocation = #_sourceLocation) async {
        await turns(1000 + 100 * sequences.count) { self.arrivals.reduce(0) { $0 + $1.all.count } >= sequences.count }
        clock.advance(by: .seconds(30))
        await turns { false }
        let received = arrivals.flatMap(\.all).map(\.metadata.sequence)
        #expect(received == sequences, sourceLocation: location)
    }

    /// The number of matching events that the left side has reported.
    func reportCount(_ predicate: (SessionDiagnosticEvent) -> Bool) async -> Int {
        await turns { self.diagnostics.contains { $0.all.contains(where: predicate) } }
        return diagnostics.flatMap(\.all).count(where: predicate)
    }
}

/// Lets other tasks run until the condition holds. Time is virtual, so nothing else is needed.
private func turns(_ count: Int = 1000, _ condition: () -> Bool) async {
    for _ in 0..<count where !condition() { await Task.yield() }
}
