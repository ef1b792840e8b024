public import MeshBase
public import MeshDelivery
public import MeshTransport

/// Links in one process that can all reach each other. They are the reference for the conformance rules of links, and
/// apps can use them in tests.
///
/// Live lanes work from `connect()` on and lose nothing while connected. Kept lanes (`queue`, `latest`, `file`) hold up
/// to 4096 packets for a link that isn't open yet. The addresses are `link-0`, `link-1` and so on. May be used on any
/// thread. Observers are called on the senders' threads, one at a time.
public final class InMemoryLinks: Sendable {
    private struct Pair: Hashable {
        let low: Int
        let high: Int

        init(_ one: Int, _ other: Int) { (low, high) = (min(one, other), max(one, other)) }
    }

    private struct End {
        var observer: (any LinkObserver)?
        var kept: [(packet: LinkPacket, from: Int)] = []
    }

    private struct State {
        var ends: [End]
        var isConnected = false
        var connected: Set<Pair> = []
    }

    /// The lanes that each link offers.
    public let lanes: [LinkLane: PayloadLimit]
    /// The peer ID that each link proves to the others; nil if they prove none.
    public let peerIDs: [String]?
    private let count: Int
    private let state: Locked<State>
    private let calls = CallQueue()
    fileprivate static let keptMax = 4096

    /// Creates links that prove no peer IDs.
    public convenience init(
        count: Int = 2, lanes: [LinkLane: PayloadLimit] = [.stream: .memoryStream, .datagram: .memoryDatagram]
    ) {
        self.init(count: count, lanes: lanes, provesPeers: false)
    }

    /// Creates links that aren't connected.
    ///
    /// - Parameter provesPeers: true for links that prove the peer IDs `peer-0`, `peer-1` and so on.
    public init(count: Int, lanes: [LinkLane: PayloadLimit], provesPeers: Bool) {
        self.count = count
        peerIDs = provesPeers ? (0..<count).map { "peer-\($0)" } : nil
        self.lanes = lanes
        state = Locked(State(ends: Array(repeating: End(), count: count)))
    }

    /// The links in the order of their addresses.
    public var links: [any TransportLink] { (0..<count).map { InMemoryLink(self, index: $0) } }

    /// Connects all open links, and links that open later.
    public func connect() {
        state.withLock { state in
            state.isConnected = true
            for high in 0..<count { for low in 0..<high { join(Pair(low, high), &state) } }
        }
        calls.run()
    }

    /// Ends all connections until the next `connect`.
    public func disconnect() {
        state.withLock { state in
            state.isConnected = false
            for pair in state.connected.sorted(by: { ($0.low, $0.high) < ($1.low, $1.high) }) { part(pair, &state) }
        }
        calls.run()
    }
}

extension PayloadLimit {
    /// Maximum size of a packet in memory on the lane `stream`: 262,144 bytes.
    public static let memoryStream = PayloadLimit(
        id: "memory.stream", bytes: 262_144, summary: "A packet of InMemoryLinks on the lane stream", source: "chosen")
    /// Maximum size of a packet in memory on the lane `datagram`: 1,200 bytes.
    public static let memoryDatagram = PayloadLimit(
        id: "memory.datagram", bytes: 1200, summary: "A packet of InMemoryLinks on the lane datagram",
        source: "what fits every network's MTU")
    /// Maximum size of a packet in memory on lanes that keep packets: 65,536 bytes.
    public static let memoryKept = PayloadLimit(
        id: "memory.kept", bytes: 65_536, summary: "A packet of InMemoryLinks on a lane that keeps it",
        source: "chosen; as WatchConnectivity's payloads")
}

extension LinkFixture {
    /// Returns a fixture for links in memory and virtual time.
    public static func inMemory(
        lanes: [LinkLane: PayloadLimit] = [.stream: .memoryStream, .datagram: .memoryDatagram], countMax: Int = 100
    ) -> LinkFixture {
        inMemory(lanes: lanes, countMax: countMax, provesPeers: false)
    }

    /// Returns a fixture for links in memory and virtual time.
    /// - Parameter provesPeers: true if the links prove their peer IDs.
    public static func inMemory(
        lanes: [LinkLane: PayloadLimit], countMax: Int = 100, provesPeers: Bool
    ) -> LinkFixture {
        LinkFixture(countMax: countMax, patience: 1000) { count in
            let network = InMemoryLinks(count: count, lanes: lanes, provesPeers: provesPeers)
            let clock = ManualClock()
            return LinkGroup(
                network.links, peerIDs: network.peerIDs, connect: { network.connect() },
                disconnect: { network.disconnect() }, clock: clock,
                settle: {
                    clock.advance(by: .milliseconds(10))
                    // Other threads, above all subscribers, need real time.
                    try? await Task.sleep(for: .microseconds(50))
                })
        }
    }
}

// MARK: - Calls by the ends

extension InMemoryLinks {
    fileprivate func open(_ index: Int, _ observer: any LinkObserver) {
        state.withLock { state in
            state.ends[index].observer = observer
            if lanes.keys.contains(where: { !$0.isLive }) {
                for other in 0..<count where other != index {
                    notify(index) { $0.found(.end(other), as: self.peerIDs?[other]) }
                }
                for (packet, from) in state.ends[index].kept { deliver(packet, from: from, to: index) }
                if state.ends[index].kept.count >= Self.keptMax {
                    for other in 0..<count where other != index { notify(other) { $0.writable(.end(index)) } }
                }
                state.ends[index].kept = []
            }
            if state.isConnected { for other in 0..<count where other != index { join(Pair(index, other), &state) } }
        }
        calls.run()
    }

    fileprivate func send(_ packet: LinkPacket, from index: Int, to address: LinkAddress) throws(LinkError) {
        let refusal: LinkError? = state.withLock { state in
            guard state.ends[index].observer != nil else { return LinkError(.closed) }
            guard let other = address.index, other < count, other != index, let limit = lanes[packet.lane] else {
                return LinkError(.unreachable)
            }
            guard packet.bytes.count <= limit.bytes else { return LinkError(.oversized) }
            if packet.lane.isLive, !state.connected.contains(Pair(index, other)) { return LinkError(.unreachable) }
            guard state.ends[other].observer == nil else {
                deliver(packet, from: index, to: other)
                return nil
            }
            if packet.lane == .latest {
                state.ends[other].kept.removeAll {
                    $0.from == index && $0.packet.lane == .latest && $0.packet.key == packet.key
                }
            }
            guard state.ends[other].kept.count < Self.keptMax else { return LinkError(.full) }
            state.ends[other].kept.append((packet, index))
            return nil
        }
        if let refusal { throw refusal }
        calls.run()
    }

    fileprivate func disconnect(_ index: Int, from address: LinkAddress) {
        state.withLock { state in
            guard let other = address.index else { return }
            part(Pair(index, other), &state)
        }
        calls.run()
    }

    fileprivate func close(_ index: Int) {
        state.withLock { state in
            for other in 0..<count where other != index { part(Pair(index, other), &state, notifiesOnly: other) }
            state.ends[index].observer = nil
        }
        calls.run()
    }

    private func deliver(_ packet: LinkPacket, from index: Int, to other: Int) {
        notify(other) { $0.received(packet.bytes, on: packet.lane, from: .end(index)) }
    }

    /// Calls the end's observer, unless the end is closed by then.
    private func notify(_ index: Int, _ what: @escaping @Sendable (any LinkObserver) -> Void) {
        calls.add { [state] in
            if let observer = state.withLock({ $0.ends[index].observer }) { what(observer) }
        }
    }

    private func join(_ pair: Pair, _ state: inout State) {
        guard lanes.keys.contains(where: \.isLive), state.ends[pair.low].observer != nil,
            state.ends[pair.high].observer != nil, state.connected.insert(pair).inserted
        else { return }
        notify(pair.low) { [peerIDs] in $0.connected(.end(pair.high), as: peerIDs?[pair.high]) }
        notify(pair.high) { [peerIDs] in $0.connected(.end(pair.low), as: peerIDs?[pair.low]) }
    }

    private func part(_ pair: Pair, _ state: inout State, notifiesOnly: Int? = nil) {
        guard state.connected.remove(pair) != nil else { return }
        for (end, other) in [(pair.low, pair.high), (pair.high, pair.low)]
        where notifiesOnly == nil || notifiesOnly == end {
            notify(end) { $0.disconnected(.end(other), reason: nil) }
        }
    }
}

extension LinkAddress {
    fileprivate static func end(_ index: Int) -> LinkAddress { LinkAddress("link-\(index)") }

    fileprivate var index: Int? { rawValue.hasPrefix("link-") ? Int(rawValue.dropFirst(5)) : nil }
}

/// One end of `InMemoryLinks`.
final class InMemoryLink: TransportLink {
    private let network: InMemoryLinks
    private let index: Int

    init(_ network: InMemoryLinks, index: Int) {
        self.network = network
        self.index = index
    }

    var lanes: [LinkLane: PayloadLimit] { network.lanes }
    func open(_ observer: any LinkObserver) { network.open(index, observer) }
    func send(_ packet: LinkPacket, to address: LinkAddress) throws(LinkError) {
        try network.send(packet, from: index, to: address)
    }
    func disconnect(_ address: LinkAddress) { network.disconnect(index, from: address) }
    func close() async { network.close(index) }
}
