import Foundation
import MeshBase
import MeshIdentity
import MeshStorage
import MeshTesting
import MeshTransport
import MeshWire
import Testing

@testable import MeshDelivery

/// Lanes that the platform keeps, alone and in addition to live ones, over relaunches of either side.
@Suite struct KeptLaneTests {
    @Test func `A returning installation is greeted again, and reached`() async throws {
        let wire = KeptWire([.queue])
        let clock = ManualClock()
        let right = try wire.launch("right", clock)
        let earlier = try wire.launch("left", clock)
        clock.advance(by: .seconds(1))
        #expect(earlier.knownPeers.map(\.id) == ["right"])
        wire.kill("left", earlier)

        let log = Log(right.receiveEnvelopes())
        let left = try wire.launch("left", clock)
        try await left.send(envelope(1), mode: .reliableEventually, to: nil)
        clock.advance(by: .seconds(1))
        #expect(left.knownPeers.map(\.id) == ["right"])
        #expect(await log.sequences(1) == [1])
    }

    @Test func `Received messages that a side lost by its relaunch are offered again`() async throws {
        let wire = KeptWire([.queue])
        let clock = ManualClock()
        let left = try wire.launch("left", clock)
        let earlier = try wire.launch("right", clock)
        clock.advance(by: .seconds(1))
        // The platform has handed it over. The app dies before it acknowledges it.
        wire.holdsBack = true
        try await left.send(envelope(1), mode: .reliableEventually, to: nil)
        clock.advance(by: .seconds(1))
        wire.loseHeldBack()
        wire.kill("right", earlier)
        let log = Log(try wire.launch("right", clock).receiveEnvelopes())
        clock.advance(by: .seconds(1))
        #expect(await log.sequences(1) == [1])
    }

    @Test func `With a latest lane, a relaunched side knows its peer before it sends anything`()
        async throws
    {
        let wire = KeptWire([.queue, .latest])
        let clock = ManualClock()
        let (right, earlier) = (try wire.launch("right", clock), try wire.launch("left", clock))
        clock.advance(by: .seconds(1))
        wire.kill("left", earlier)
        wire.kill("right", right)
        let left = try wire.launch("left", clock)
        clock.advance(by: .seconds(1))
        #expect(left.knownPeers.map(\.id) == ["right"])
        try await left.send(envelope(1), mode: .reliableEventually, to: nil)
        clock.advance(by: .seconds(1))
        let log = Log(try wire.launch("right", clock).receiveEnvelopes())
        clock.advance(by: .seconds(1))
        #expect(await log.sequences(1) == [1])
    }

    @Test func `Restored peers are reached over kept lanes at once`() async throws {
        let wire = KeptWire([.datagram, .queue, .latest])
        let clock = ManualClock()
        let store = MemoryStore()
        let (right, earlier) = (try wire.launch("right", clock), try wire.launch("left", clock, store))
        wire.connect()
        clock.advance(by: .seconds(1))
        wire.disconnect()
        wire.kill("left", earlier)
        wire.kill("right", right)
        let left = try wire.launch("left", clock, store)
        try await left.send(envelope(1), mode: .reliableEventually, to: peer("right"))
        clock.advance(by: .seconds(1))
        wire.kill("left", left)
        let log = Log(try wire.launch("right", clock).receiveEnvelopes())
        clock.advance(by: .seconds(1))
        #expect(await log.sequences(1) == [1])
    }

    @Test func `When live lanes end, kept ones at the same address continue both ways`() async throws {
        let wire = KeptWire([.datagram, .queue])
        let clock = ManualClock()
        let (left, right) = (try wire.launch("left", clock), try wire.launch("right", clock))
        wire.connect()
        clock.advance(by: .seconds(1))
        wire.disconnect()
        let (atLeft, atRight) = (Log(left.receiveEnvelopes()), Log(right.receiveEnvelopes()))
        for mode in [SessionDeliveryMode.realtimeBestEffort, .reliableEventually] {
            let sequence: UInt64 = mode == .realtimeBestEffort ? 1 : 2
            try await left.send(envelope(sequence), mode: mode, to: nil)
            try await right.send(envelope(sequence, from: "right"), mode: mode, to: nil)
        }
        clock.advance(by: .seconds(1))
        #expect(await atRight.sequences(2) == [1, 2])
        #expect(await atLeft.sequences(2) == [1, 2])
    }

    @Test func `A connection without answers doesn't block the kept lanes`() async throws {
        let wire = KeptWire([.datagram, .queue])
        let clock = ManualClock()
        let (left, right) = (try wire.launch("left", clock), try wire.launch("right", clock))
        wire.connect()
        clock.advance(by: .seconds(1))
        wire.isDeaf = true
        let log = Log(right.receiveEnvelopes())
        try await left.send(envelope(1), mode: .reliableEventually, to: nil)
        clock.advance(by: .seconds(30))
        #expect(await log.sequences(1) == [1])
        try await left.send(envelope(2), mode: .realtimeBestEffort, to: nil)
        clock.advance(by: .seconds(1))
        #expect(await log.sequences(2) == [1, 2])
        #expect(wire.queuedCount < 20, "each goes once")
    }

    @Test func `A best-effort message uses the kept lane if the link reports it as undelivered`()
        async throws
    {
        let wire = KeptWire([.datagram, .queue])
        let clock = ManualClock()
        let (left, right) = (try wire.launch("left", clock), try wire.launch("right", clock))
        wire.connect()
        clock.advance(by: .seconds(1))
        wire.isDeaf = true
        wire.reportsUndelivered = true
        let log = Log(right.receiveEnvelopes())
        try await left.send(envelope(1), mode: .realtimeBestEffort, to: nil)
        clock.advance(by: .milliseconds(100))
        #expect(await log.sequences(1) == [1])
    }

    @Test func `A best-effort event is kept from the first call, even before any hello`() async throws {
        let wire = KeptWire([.datagram, .queue])
        let clock = ManualClock()
        let left = try wire.launch("left", clock)
        try await left.send(envelope(1), mode: .realtimeBestEffort, to: nil)
        let right = try wire.launch("right", clock)
        let log = Log(right.receiveEnvelopes())
        clock.advance(by: .seconds(1))
        #expect(await log.sequences(1) == [1])

        // The link reports a connection, and the handshake hasn't ended.
        wire.isDeaf = true
        wire.connect()
        try await left.send(envelope(2), mode: .realtimeBestEffort, to: nil)
        clock.advance(by: .milliseconds(10))
        #expect(await log.sequences(2) == [1, 2])
        #expect(left.health(of: peer("right")) == .gone)
    }

    @Test func `A best-effort event that overtakes a new connection's hello is delivered`() async throws {
        let wire = KeptWire([.datagram, .queue])
        let clock = ManualClock()
        let (left, right) = (try wire.launch("left", clock), try wire.launch("right", clock))
        wire.connect()
        clock.advance(by: .seconds(1))
        wire.isDeaf = true
        let end = wire.observer(of: "right")
        end?.disconnected("other", reason: nil)
        end?.connected("other", as: nil)
        wire.isDeaf = false
        let log = Log(right.receiveEnvelopes())
        try await left.send(envelope(1), mode: .realtimeBestEffort, to: nil)
        #expect(await log.sequences(1) == [1])
    }

    /// A process held 2 and 3 because 1 was missing, reported this on a lane that the platform keeps, and ended.
    @Test func `Early messages that a process reported on a kept lane are offered to the next launch`()
        async throws
    {
        let wire = KeptWire([.datagram, .queue])
        let clock = ManualClock()
        let (left, right) = (try wire.launch("left", clock), try wire.launch("right", clock))
        wire.connect()
        clock.advance(by: .seconds(1))
        let log = Log(right.receiveEnvelopes())
        wire.isDeaf = true
        for sequence in 1...3 as ClosedRange<UInt64> {
            try await left.send(envelope(sequence), mode: .reliableEventually, to: nil)
        }
        var report = WireReport()
        report.receipts = [
            .init(featureID: "workout", outbox: left.shell.state.withLock { $0.core.outbox }, upTo: 0, beyond: [2...3])
        ]
        var encoder = left.shell.setup.makeEncoder(interning: false)
        try encoder.encode(.report(report), mark: nil).withUnsafeBytes {
            left.shell.received($0, on: .queue, from: "other")
        }
        wire.isDeaf = false
        clock.advance(by: .seconds(4))
        #expect(await log.sequences(3) == [1, 2, 3])
    }

    /// The snapshot was handed to the platform, and lost before it arrived because one side ended.
    @Test func `A newest snapshot sent and lost is offered again once the peer answers`() async throws {
        let wire = KeptWire([.datagram, .queue, .latest])
        let clock = ManualClock()
        let (left, right) = (try wire.launch("left", clock), try wire.launch("right", clock))
        clock.advance(by: .seconds(1))
        #expect(left.knownPeers.map(\.id) == ["right"])
        wire.losesLatest = true
        try await left.sendSnapshot(snapshot(1), mode: .latestSnapshot, to: nil)
        wire.losesLatest = false
        clock.advance(by: .seconds(60))
        #expect(right.latestPeerSnapshot(featureID: "workout") == nil)
        wire.connect()
        clock.advance(by: .seconds(1))
        #expect(right.latestPeerSnapshot(featureID: "workout")?.revision == 1)
    }

    @Test func `A newest snapshot that a platform loses while the peer answers is soon offered again`()
        async throws
    {
        let wire = KeptWire([.datagram, .queue, .latest])
        let clock = ManualClock()
        let (left, right) = (try wire.launch("left", clock), try wire.launch("right", clock))
        wire.connect()
        clock.advance(by: .seconds(1))
        wire.losesLatest = true
        try await left.sendSnapshot(snapshot(1), mode: .latestSnapshot, to: nil)
        wire.losesLatest = false
        clock.advance(by: .seconds(10))
        #expect(right.latestPeerSnapshot(featureID: "workout")?.revision == 1)
    }

    @Test func `A newest snapshot that a platform keeps losing is offered less and less often`() async throws {
        let wire = KeptWire([.datagram, .queue, .latest])
        let clock = ManualClock()
        let (left, right) = (try wire.launch("left", clock), try wire.launch("right", clock))
        wire.connect()
        clock.advance(by: .seconds(1))
        wire.losesLatest = true
        try await left.sendSnapshot(snapshot(1), mode: .latestSnapshot, to: nil)
        var counts: [Int] = []
        for seconds in [4, 2, 9, 20, 40, 80, 160, 310, 310] {
            clock.advance(by: .seconds(seconds))
            counts.append(wire.snapshotCount)
        }
        #expect(counts == Array(1...9))
        wire.losesLatest = false
        wire.connect()
        clock.advance(by: .seconds(1))
        #expect(right.latestPeerSnapshot(featureID: "workout")?.revision == 1, "a new connection begins at once")
    }

    @Test func `A newest snapshot goes to the platform once while no peer answers, and never after its receipt`()
        async throws
    {
        let wire = KeptWire([.datagram, .queue, .latest])
        let clock = ManualClock()
        let left = try wire.launch("left", clock)
        let earlier = try wire.launch("right", clock)
        clock.advance(by: .seconds(1))
        wire.kill("right", earlier)
        try await left.sendSnapshot(snapshot(1), mode: .latestSnapshot, to: nil)
        clock.advance(by: .seconds(600))
        #expect(wire.snapshotCount == 1)
        let right = try wire.launch("right", clock)
        clock.advance(by: .seconds(1))
        #expect(right.latestPeerSnapshot(featureID: "workout")?.revision == 1)
        let count = wire.snapshotCount
        for _ in 0..<3 {
            wire.connect()
            clock.advance(by: .seconds(60))
            wire.disconnect()
            clock.advance(by: .seconds(60))
        }
        #expect(wire.snapshotCount == count)
    }

    @Test func `Closing waits for accepted messages during the handshake, until the handshake fails`()
        async throws
    {
        let wire = KeptWire([.datagram, .queue])
        let clock = ManualClock()
        let (left, right) = (try wire.launch("left", clock), try wire.launch("right", clock))
        clock.advance(by: .seconds(1))
        #expect(left.knownPeers.map(\.id) == ["right"])
        wire.isDeaf = true
        wire.connect()
        let log = Log(right.receiveEnvelopes())
        try await left.send(envelope(1), mode: .reliableEventually, to: nil)
        // The message isn't in any lane yet.
        #expect(left.shell.state.withLock { $0.core.awaitsAcknowledgements })
        clock.advance(by: .seconds(10))
        #expect(!left.shell.state.withLock { $0.core.awaitsAcknowledgements })
        #expect(await log.sequences(1) == [1])
    }
}

/// Two ends, `left` and `right`, and a platform between them that keeps packets for an absent end.
final class KeptWire: Sendable {
    private struct End {
        var observer: (any LinkObserver)?
        var queue: [LinkPacket] = []
        var latest: [String: LinkPacket] = [:]
    }

    private struct State {
        var ends: [String: End] = ["left": End(), "right": End()]
        var isConnected = false
        var isDeaf = false
        var reportsUndelivered = false
        var holdsBack = false
        var losesLatest = false
        var queuedCount = 0
        var snapshotCount = 0
        var liveCount = 0
        var launchCount: UInt64 = 0
        /// The lanes of the packets whose first frame has a compression format.
        var formatLanes: [LinkLane] = []
    }

    private let state = Locked(State())
    private let lanes: [LinkLane: PayloadLimit]

    init(_ lanes: [LinkLane]) {
        self.lanes = Dictionary(uniqueKeysWithValues: lanes.map { ($0, .deliveryMessage) })
    }

    /// True if datagrams are lost.
    var isDeaf: Bool {
        get { state.withLock { $0.isDeaf } }
        set { state.withLock { $0.isDeaf = newValue } }
    }
    var reportsUndelivered: Bool {
        get { state.withLock { $0.reportsUndelivered } }
        set { state.withLock { $0.reportsUndelivered = newValue } }
    }
    /// True if the platform doesn't hand over queued packets.
    var holdsBack: Bool {
        get { state.withLock { $0.holdsBack } }
        set { state.withLock { $0.holdsBack = newValue } }
    }
    /// True if packets on the lane `latest` are lost.
    var losesLatest: Bool {
        get { state.withLock { $0.losesLatest } }
        set { state.withLock { $0.losesLatest = newValue } }
    }
    var queuedCount: Int { state.withLock { $0.queuedCount } }
    /// The number of packets handed over on the lane `latest`, without hellos.
    var snapshotCount: Int { state.withLock { $0.snapshotCount } }
    /// The number of packets on live lanes, of both ends.
    var liveCount: Int { state.withLock { $0.liveCount } }

    /// The lanes of the packets since the last call whose first frame has a compression format.
    func takeFormatLanes() -> [LinkLane] {
        state.withLock { state in
            defer { state.formatLanes = [] }
            return state.formatLanes
        }
    }

    func loseHeldBack() {
        state.withLock { state in
            for end in state.ends.keys { state.ends[end]?.queue = [] }
            state.holdsBack = false
        }
    }

    func link(of end: String) -> any TransportLink { KeptLink(self, end, lanes) }

    func launch(
        _ end: String, _ clock: ManualClock, _ store: MemoryStore? = nil, configuration: DeliveryConfiguration = .init()
    ) throws -> LinkTransport {
        var configuration = configuration
        configuration.seed = state.withLock { state in
            state.launchCount += 1
            return state.launchCount
        }
        let transport = try LinkTransport(
            localPeer: peer(end), link: link(of: end), configuration: configuration, store: store,
            clock: clock)
        try transport.start()
        return transport
    }

    func kill(_ end: String, _ transport: LinkTransport) {
        state.withLock { $0.ends[end]?.observer = nil }
        transport.abandon()
    }

    func connect() {
        let observers = state.withLock { state in
            state.isConnected = true
            return state.ends.mapValues(\.observer)
        }
        observers["left"]??.connected("other", as: nil)
        observers["right"]??.connected("other", as: nil)
    }

    func disconnect() {
        let observers = state.withLock { state in
            state.isConnected = false
            return state.ends.mapValues(\.observer)
        }
        observers["left"]??.disconnected("other", reason: nil)
        observers["right"]??.disconnected("other", reason: nil)
    }

    fileprivate func open(_ end: String, _ observer: any LinkObserver) {
        let latest = state.withLock { $0.ends[end]?.latest ?? [:] }
        observer.found("other", as: nil)
        for (_, packet) in latest.sorted(by: { $0.key < $1.key }) {
            observer.received(packet.bytes, on: .latest, from: "other")
        }
        while let packet = nextQueued(end, observer) { observer.received(packet.bytes, on: .queue, from: "other") }
    }

    /// The next queued packet. An end gets all queued packets before those that are sent meanwhile.
    private func nextQueued(_ end: String, _ observer: any LinkObserver) -> LinkPacket? {
        state.withLock { state in
            guard state.ends[end]?.queue.isEmpty == false else {
                state.ends[end]?.observer = observer
                return nil
            }
            return state.ends[end]?.queue.removeFirst()
        }
    }

    fileprivate func observer(of end: String) -> (any LinkObserver)? { state.withLock { $0.ends[end]?.observer } }

    fileprivate func send(_ packet: LinkPacket, from end: String) throws(LinkError) {
        let other = end == "left" ? "right" : "left"
        let outcome: Result<(any LinkObserver)?, LinkError> = state.withLock { state in
            if packet.bytes[4] & 0x40 != 0 { state.formatLanes.append(packet.lane) }
            switch packet.lane {
            case .queue:
                state.queuedCount += 1
                if let observer = state.ends[other]?.observer, !state.holdsBack { return .success(observer) }
                state.ends[other]?.queue.append(packet)
                return .success(nil)
            case .latest:
                if packet.key != KeptConnection.helloKey { state.snapshotCount += 1 }
                guard !state.losesLatest else { return .success(nil) }
                state.ends[other]?.latest[packet.key] = packet
                return .success(state.ends[other]?.observer)
            default:
                guard state.isConnected else { return .failure(LinkError(.unreachable)) }
                state.liveCount += 1
                return .success(state.isDeaf ? nil : state.ends[other]?.observer)
            }
        }
        let receiver = try outcome.get()
        receiver?.received(packet.bytes, on: packet.lane, from: "other")
        if receiver == nil, packet.lane.isLive, reportsUndelivered {
            observer(of: end)?.undelivered(packet, to: "other")
        }
    }
}

private final class KeptLink: TransportLink {
    private let wire: KeptWire
    private let end: String
    let lanes: [LinkLane: PayloadLimit]
    let traits = LinkTraits(idleInterval: .seconds(310))

    init(_ wire: KeptWire, _ end: String, _ lanes: [LinkLane: PayloadLimit]) {
        (self.wire, self.end, self.lanes) = (wire, end, lanes)
    }

    func open(_ observer: any LinkObserver) { wire.open(end, observer) }
    func send(_ packet: LinkPacket, to address: LinkAddress) throws(LinkError) { try wire.send(packet, from: end) }
    func close() async {}
}
