import MeshBase
import MeshDelivery
import MeshTransport

/// The tools of a link rule: links, and for each link a witness that records its calls.
struct LinkBench: Sendable {
    let group: LinkGroup
    let witnesses: [LinkWitness]
    private let patience: Int

    var links: [any TransportLink] { group.links }
    var lanes: [LinkLane: PayloadLimit] { links[0].lanes }
    var liveLanes: [LinkLane] { lanes.keys.filter(\.isLive).sorted { $0.rawValue < $1.rawValue } }

    /// Creates a bench with two links that aren't open. They are closed with the transports' bench.
    /// - Parameter witnesses: by default, witnesses that only record.
    init(
        _ bench: TransportBench, _ fixture: LinkFixture, witnesses: ((LinkGroup) -> [LinkWitness])? = nil
    ) async throws {
        let group = try await fixture.makeLinks(min(fixture.countMax, 2))
        bench.keep(group)
        self.group = group
        self.witnesses = witnesses?(group) ?? group.links.map { _ in LinkWitness() }
        patience = fixture.patience
    }

    /// Calls `body` with connected links.
    static func run(_ bench: TransportBench, _ body: (LinkBench) async throws -> Void) async throws {
        guard let fixture = bench.links else { return }
        let links = try await LinkBench(bench, fixture)
        try links.open()
        try await links.meet()
        try await body(links)
    }

    func open() throws { for (link, witness) in zip(links, witnesses) { try link.open(witness) } }

    /// Connects the links and waits until each has reported the other one.
    func meet() async throws {
        try await group.connect?()
        let isLive = !liveLanes.isEmpty
        try await wait(for: isLive ? "every link to say connected" : "every link to say found") {
            witnesses.allSatisfy { isLive ? $0.isConnected : $0.address != nil }
        }
    }

    func wait(for expectation: @autoclosure () -> String, until condition: () -> Bool) async throws {
        guard try await Patience(turns: patience).settle(by: group.settle, until: condition) else {
            throw ConformanceFailure("timed out waiting for \(expectation())")
        }
    }

    func settle() async { for _ in 0..<50 { await group.settle() } }

    func close() async { for link in links { await link.close() } }

    /// Returns the address of the other link.
    func address(at end: Int) throws -> LinkAddress {
        guard let address = witnesses[end].address else { throw ConformanceFailure("link \(end) knows no peer") }
        return address
    }

    /// Sends a packet. Waits while the link is full.
    func send(
        _ bytes: [UInt8], on lane: LinkLane, key: String = "", isUrgent: Bool = false, from end: Int = 0
    ) async throws {
        let address = try address(at: end)
        let packet = LinkPacket(lane: lane, bytes: bytes, key: key, isUrgent: isUrgent)
        while true {
            let count = witnesses[end].writableCount
            do throws(LinkError) {
                return try links[end].send(packet, to: address)
            } catch {
                guard error.code == .full else { throw error }
                try await wait(for: "writable after full") { witnesses[end].writableCount > count }
            }
        }
    }

    /// Returns the error that a send throws; nil for none.
    func refusal(_ bytes: [UInt8], on lane: LinkLane, to address: LinkAddress, from end: Int = 0) -> LinkError.Code? {
        do {
            try links[end].send(LinkPacket(lane: lane, bytes: bytes), to: address)
            return nil
        } catch {
            return error.code
        }
    }
}

/// An observer that records a link's calls. It stores all packets: a few megabytes with the current rules.
final class LinkWitness: LinkObserver {
    private struct Record {
        var address: LinkAddress?
        var isConnected = false
        var connectionCount = 0
        var disconnectionCount = 0
        var writableCount = 0
        var callCount = 0
        var packets: [LinkLane: [[UInt8]]] = [:]
        /// Number of packets that arrived on live lanes without a connection.
        var strayCount = 0
    }

    private let record = Locked(Record())
    private let answer: (@Sendable ([UInt8], LinkLane, LinkAddress) -> Void)?

    /// - Parameter answer: called within `received`.
    init(answer: (@Sendable ([UInt8], LinkLane, LinkAddress) -> Void)? = nil) { self.answer = answer }

    var address: LinkAddress? { record.withLock { $0.address } }
    var isConnected: Bool { record.withLock { $0.isConnected } }
    var connectionCount: Int { record.withLock { $0.connectionCount } }
    var disconnectionCount: Int { record.withLock { $0.disconnectionCount } }
    var writableCount: Int { record.withLock { $0.writableCount } }
    var callCount: Int { record.withLock { $0.callCount } }
    var strayCount: Int { record.withLock { $0.strayCount } }

    func packets(on lane: LinkLane) -> [[UInt8]] { record.withLock { $0.packets[lane] ?? [] } }
    func byteCount(on lane: LinkLane) -> Int { record.withLock { $0.packets[lane]?.reduce(0) { $0 + $1.count } ?? 0 } }
    func bytes(on lane: LinkLane) -> [UInt8] { Array(packets(on: lane).joined()) }
    func forget() { record.withLock { $0.packets = [:] } }

    func found(_ address: LinkAddress, as peerID: String?) {
        record.withLock {
            $0.callCount += 1
            $0.address = $0.address ?? address
        }
    }

    func connected(_ address: LinkAddress, as peerID: String?) {
        record.withLock {
            $0.callCount += 1
            $0.address = address
            $0.isConnected = true
            $0.connectionCount += 1
        }
    }

    func received(_ bytes: UnsafeRawBufferPointer, on lane: LinkLane, from address: LinkAddress) {
        let bytes = Array(bytes)
        record.withLock {
            $0.callCount += 1
            $0.packets[lane, default: []].append(bytes)
            if lane.isLive, !$0.isConnected { $0.strayCount += 1 }
        }
        answer?(bytes, lane, address)
    }

    func writable(_ address: LinkAddress) {
        record.withLock {
            $0.callCount += 1
            $0.writableCount += 1
        }
    }

    func disconnected(_ address: LinkAddress, reason: String?) {
        record.withLock {
            $0.callCount += 1
            $0.isConnected = false
            $0.disconnectionCount += 1
        }
    }

    func failed(_ reason: String) { record.withLock { $0.callCount += 1 } }
}
