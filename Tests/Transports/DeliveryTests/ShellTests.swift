import MeshBase
import MeshIdentity
import MeshStorage
import MeshTestSupport
import MeshTesting
import MeshTransport
import MeshWire
import Testing

@testable import MeshDelivery

/// Duties of the shell towards the clock, the store and the link.
@Suite struct ShellTests {
    @Test func `However much is sent, few clock calls are pending`() async throws {
        let pair = try Pair()
        let log = Log(pair.right.receiveEnvelopes())
        pair.wire.connect()
        pair.settle()
        for sequence in 1...500 as ClosedRange<UInt64> {
            try await pair.left.send(envelope(sequence), mode: .reliableEventually, to: nil)
            pair.settle(.milliseconds(20))
        }
        #expect(await log.sequences(500).count == 500)
        #expect(pair.clock.pendingCount <= 8)
        pair.settle(.seconds(60))
        #expect(pair.clock.pendingCount <= 8)
    }

    @Test func `A closed transport ignores pending clock calls`() async throws {
        let pair = try Pair()
        pair.wire.connect()
        pair.settle()
        try await pair.left.send(envelope(1), mode: .reliableEventually, to: nil)
        await pair.left.close()
        await pair.right.close()
        pair.settle(.seconds(60))
        #expect(pair.clock.pendingCount == 0)
    }

    @Test func `Changes noted during a write to a memory store follow it and never overtake it`() throws {
        let store = BusyStore()
        let archive = try makeArchive(store)
        func accepted(_ number: UInt64) throws -> DeliveryChange {
            .accepted(
                peerID: "right", ChannelKey(outbox: 1, featureID: "list"), number: number,
                .envelope(try encodedEnvelope(number, feature: "list")), expiresAt: nil)
        }
        let failures = Locked<[StorageError]>([])
        let written = Locked(0)
        @Sendable func write() {
            archive.write(
                doneCount: { 0 },
                conclude: { take in
                    let outcome = take()
                    written.withLock { $0 += outcome.changes.count }
                    if let error = outcome.error { failures.withLock { $0.append(error) } }
                })
        }
        let second = try accepted(2)
        // Another thread sends, at the worst moment.
        store.duringCommit = {
            archive.note([second])
            write()
        }
        archive.note([try accepted(1)])
        write()
        #expect(failures.withLock { $0 }.isEmpty)
        #expect(written.withLock { $0 } == 2)
        #expect(try store.entries(of: "delivery/to/1", from: 1, maxBytes: 1 << 20).map(\.position) == [1, 2])
    }

    @Test func `A failed write gives back its positions, and changes noted until the core knows fail too`() throws {
        let store = BusyStore()
        let archive = try makeArchive(store)
        func received(_ number: UInt64) throws -> DeliveryChange {
            .received(
                peerID: "right", ChannelKey(outbox: 1, featureID: "list"), number: number,
                .envelope(try encodedEnvelope(number, feature: "list")))
        }
        let failedCounts = Locked<[Int]>([])
        let duringConclusion = Locked<(@Sendable () -> Void)?>(nil)
        @Sendable func write(_ changes: [DeliveryChange]) {
            archive.note(changes)
            archive.write(
                doneCount: { 0 },
                conclude: { take in
                    duringConclusion.withLock { $0.take() }?()
                    let outcome = take()
                    if outcome.error != nil { failedCounts.withLock { $0.append(outcome.changes.count) } }
                })
        }
        let (second, third, fourth) = (try received(2), try received(3), try received(4))
        write([try received(1)])
        store.duringCommit = {
            archive.note([third])
            throw StorageError(.full, "no space")
        }
        // Another thread's change comes after the failed write, before the core knows that it failed.
        duringConclusion.withLock { $0 = { write([fourth]) } }
        write([second])
        #expect(failedCounts.withLock { $0 } == [3])
        write([second, third, fourth])
        #expect(failedCounts.withLock { $0 } == [3])
        #expect(try store.entries(of: "delivery/inbox", from: 0, maxBytes: 1 << 20).map(\.position) == [0, 1, 2, 3])
    }

    /// Regression: such a change was never counted as written, so all later sends waited forever.
    @Test func `A send doesn't wait for a change that needs no write`() async throws {
        let archive = try makeArchive(BusyStore())
        archive.note([.outboxForgotten(peerID: "right", outbox: 7)])
        archive.write(doneCount: { 0 }, conclude: { _ = $0() })
        let change = DeliveryChange.accepted(
            peerID: "right", ChannelKey(outbox: 1, featureID: "list"), number: 1,
            .envelope(try encodedEnvelope(1, feature: "list")), expiresAt: nil)
        let count = archive.notedCount
        archive.note([change])
        let flush = Task { try await archive.flush(since: count) }
        archive.write(doneCount: { 0 }, conclude: { _ = $0() })
        try await flush.value
    }

    @Test func `Another device with this ID stays a problem while a third device comes and goes`() throws {
        let link = StagedLink()
        let transport = try LinkTransport(localPeer: peer("phone"), link: link, clock: ManualClock())
        try transport.start()
        try link.greet(as: "watch", at: "first")
        try link.greet(as: "phone", at: "second")
        #expect(transport.problems.map(\.code) == [.peerIDInUse])
        transport.shell.note(.reachabilityChanged(peerID: "watch", isReachable: true))
        #expect(transport.problems.map(\.code) == [.peerIDInUse])
        transport.shell.note(.reachabilityChanged(peerID: "tablet", isReachable: true))
        #expect(transport.problems.isEmpty, "it has a name of its own now")
    }

    @Test func `A frame that can't be written is reported with the mode of its message`() throws {
        let mark = WireMark(outbox: 1, sequence: 1, first: 1)
        let request = WireMessage.snapshotRequest(WireSnapshotRequest(sessionID: sessionID))
        #expect(WireFrame(.envelope(try envelope(1))).mode == .realtimeBestEffort)
        #expect(WireFrame(.envelope(try envelope(1)), mark: mark).mode == .reliableEventually)
        #expect(WireFrame(.snapshot(try snapshot(1))).mode == .realtimeBestEffort)
        #expect(WireFrame(.snapshot(try snapshot(1)), mark: mark).mode == .latestSnapshot)
        #expect(WireFrame(request).mode == .snapshotRequest)
        #expect(WireFrame(.report(WireReport())).mode == .acknowledgement)
    }

    private func makeArchive(_ store: BusyStore) throws -> DeliveryArchive {
        let setup = LineSetup(
            codec: CompactCodec(), codecs: try CodecTable([CompactCodec()]), compression: .stored,
            datagramLimit: nil, streamBytes: 65_536, firstFragment: 0)
        return try DeliveryArchive(store, setup, outbox: 1)
    }

    @Test func `A send that returns after a reconnect doesn't touch the new connection`() throws {
        let link = ReconnectingLink()
        let transport = try LinkTransport(localPeer: peer("left"), link: link, clock: ManualClock())
        try transport.start()
        // The transport sends its hello. During that send the connection is replaced, and the new one is full.
        link.observer?.connected("peer", as: nil)
        #expect(link.log == ["taken", "full"])
        link.observer?.writable("peer")
        #expect(link.log == ["taken", "full", "taken"])
    }

    @Test(arguments: [LinkError.Code.full, .unreachable])
    func `The old connection's error doesn't block a new one`(
        _ code: LinkError.Code
    ) throws {
        // On a platform that keeps packets, both connections have one address.
        let link = ReconnectingLink([.datagram: .deliveryMessage, .queue: .deliveryMessage], refusal: code)
        let transport = try LinkTransport(localPeer: peer("left"), link: link, clock: ManualClock())
        try transport.start()
        link.observer?.connected("peer", as: nil)
        // The new connection never reports that it is writable, because it hasn't refused anything.
        #expect(link.log == ["\(code)", "taken"])
    }
}

/// An in-memory store that runs a hook during its first commit.
private final class BusyStore: StoreWrapper {
    let wrapped: any SessionStore = MemoryStore()
    private let hook = Locked<(@Sendable () throws -> Void)?>(nil)

    var duringCommit: (@Sendable () throws -> Void)? {
        get { hook.withLock { $0 } }
        set { hook.withLock { $0 = newValue } }
    }

    func commit(_ batch: StoreBatch) throws {
        try hook.withLock { $0.take() }?()
        try wrapped.commit(batch)
    }
}

/// Replaces its connection while the first packet is being sent. Then it refuses that packet, or is full for the second.
private final class ReconnectingLink: TransportLink {
    private struct State {
        var observer: (any LinkObserver)?
        var log: [String] = []
    }

    private let state = Locked(State())

    let lanes: [LinkLane: PayloadLimit]
    private let refusal: LinkError.Code?

    init(_ lanes: [LinkLane: PayloadLimit] = [.stream: .deliveryMessage], refusal: LinkError.Code? = nil) {
        (self.lanes, self.refusal) = (lanes, refusal)
    }

    var observer: (any LinkObserver)? { state.withLock { $0.observer } }
    var log: [String] { state.withLock { $0.log } }

    func open(_ observer: any LinkObserver) { state.withLock { $0.observer = observer } }

    func send(_ packet: LinkPacket, to address: LinkAddress) throws(LinkError) {
        let (isFirst, outcome) = state.withLock { state -> (Bool, LinkError.Code?) in
            let outcome = [refusal, refusal == nil ? .full : nil, nil][min(state.log.count, 2)]
            state.log.append(outcome.map { "\($0)" } ?? "taken")
            return (state.log.count == 1, outcome)
        }
        if isFirst {
            observer?.disconnected(address, reason: nil)
            observer?.connected(address, as: nil)
        }
        if let outcome { throw LinkError(outcome) }
    }

    func close() async { state.withLock { $0.observer = nil } }
}

/// A link whose other ends are played by a test.
private final class StagedLink: TransportLink {
    private let opened = Locked<(any LinkObserver)?>(nil)

    var lanes: [LinkLane: PayloadLimit] { [.stream: .deliveryMessage] }
    var observer: (any LinkObserver)? { opened.withLock { $0 } }

    func open(_ observer: any LinkObserver) { opened.withLock { $0 = observer } }
    func send(_ packet: LinkPacket, to address: LinkAddress) throws(LinkError) {}
    func close() async {}

    func greet(as peerID: String, at address: LinkAddress) throws {
        var encoder = FrameEncoder(codec: CompactCodec(), interning: false)
        let hello = try encoder.encode(.hello(WireHello(peer: peer(peerID), codecs: [1, 2, 3])))
        observer?.connected(address, as: nil)
        observer?.received(hello, on: .stream, from: address)
    }
}
