import MeshBase
import MeshTransport

/// Injects faults between links. Each link is wrapped in a `FaultInjectingLink`, which sends and receives through this
/// object. Packets on live lanes travel in chunks that name their epoch and sender. The first `mend` connects the
/// wrapped links.
///
/// On lanes that a platform keeps (`queue`, `latest`, `file`), packets sent during a cut arrive after it. May be used
/// on any thread. Observers are called one at a time across all links.
final class LinkFaults: Sendable {
    private struct Connection {
        let provenID: String?
        var chunks = ChunkReader()
        var isReported = false
        /// The epoch of the connection that the transport last heard of. A late call of the transport may refer to a
        /// connection that was cut and mended since. It must not affect the new connection, which has the same address.
        var reportedEpoch: UInt8?
        var isBlocked = false
        /// The index of the end that sends from this address; nil until a chunk has arrived.
        var peer: Int?
        /// A packet that is sent after the next one, to change the order.
        var delayed: LinkPacket?
    }

    private struct End {
        let link: any TransportLink
        var observer: (any LinkObserver)?
        var connections: [LinkAddress: Connection] = [:]
        /// Calls of the observer that wait for the end of a cut. `kept` has the packets that wait to be sent, as a
        /// platform would keep them.
        var held: [@Sendable (any LinkObserver) -> Void] = []
        var kept: [(packet: LinkPacket, address: LinkAddress)] = []

        var addresses: [LinkAddress] { connections.keys.sorted { $0.rawValue < $1.rawValue } }
    }

    private struct State {
        var ends: [End]
        var isCut = true
        var isDead = false
        /// The number of the current connection. Each cut increments it.
        var epoch: UInt8 = 0
        /// Number of packets that the links still accept; nil for no limit.
        var room: Int?
        /// Number of bytes that still arrive before the rest is lost; nil for no limit.
        var passing: Int?
        var probability = 0.0
        var random = SplitMix64(seed: 1)
    }

    private let state: Locked<State>
    private let calls = CallQueue()

    init(_ links: [any TransportLink]) {
        state = Locked(State(ends: links.map { End(link: $0) }))
    }

    /// The links, each wrapped in a `FaultInjectingLink`.
    var links: [any TransportLink] {
        state.withLock { $0.ends.map(\.link) }.enumerated().map { FaultInjectingLink($1, index: $0, self) }
    }
}

// MARK: - Faults

extension LinkFaults {
    func cut() {
        state.withLock { state in
            guard !state.isCut else { return }
            state.isCut = true
            state.epoch &+= 1
            for end in state.ends.indices {
                for address in state.ends[end].addresses where state.ends[end].connections[address]?.isReported == true
                {
                    state.ends[end].connections[address]?.isReported = false
                    state.ends[end].connections[address]?.isBlocked = false
                    state.ends[end].connections[address]?.delayed = nil
                    notify(end) { $0.disconnected(address, reason: "the connection was cut") }
                }
            }
        }
        calls.run()
    }

    /// Cuts all connections, because a transport has ended its own.
    func disconnect(_ address: LinkAddress, at end: Int) {
        let isCurrent = state.withLock { $0.ends[end].connections[address]?.reportedEpoch == $0.epoch }
        if isCurrent { cut() }
    }

    func mend() {
        let kept: [(any TransportLink, LinkPacket, LinkAddress)] = state.withLock { state in
            state.passing = nil
            guard state.isCut else { return [] }
            state.isCut = false
            var kept: [(any TransportLink, LinkPacket, LinkAddress)] = []
            for end in state.ends.indices {
                kept += state.ends[end].kept.map { (state.ends[end].link, $0.packet, $0.address) }
                state.ends[end].kept = []
            }
            for end in state.ends.indices {
                for call in state.ends[end].held { notify(end, call) }
                state.ends[end].held = []
                for address in state.ends[end].addresses { reportConnected(end, address, &state) }
            }
            return kept
        }
        // If a link has no space, the kept packets are lost, and the rules report it.
        for (link, packet, address) in kept { try? link.send(packet, to: address) }
        calls.run()
    }

    func swallow(afterBytes count: Int?) { state.withLock { $0.passing = count } }

    func setRoom(_ packets: Int?) {
        state.withLock { state in
            state.room = packets
            guard packets != 0 else { return }
            for end in state.ends.indices {
                for address in state.ends[end].addresses where state.ends[end].connections[address]?.isBlocked == true {
                    state.ends[end].connections[address]?.isBlocked = false
                    notify(end) { $0.writable(address) }
                }
            }
        }
        calls.run()
    }

    func disturb(probability: Double) { state.withLock { $0.probability = probability } }

    /// Delivers bytes to an end as if another end had sent them.
    /// - Parameters:
    ///   - end: the receiver.
    ///   - other: the apparent sender.
    func inject(_ bytes: [UInt8], on lane: LinkLane, into end: Int, from other: Int) {
        state.withLock { state in
            let connections = state.ends[end].connections
            guard
                let address = state.ends[end].addresses.first(where: { connections[$0]?.peer == other })
                    ?? (connections.count == 1 ? connections.keys.first : nil)
            else { return }
            notify(end) { $0.received(bytes, on: lane, from: address) }
        }
        calls.run()
    }

    /// Drops everything from now on, without notice.
    func die() { state.withLock { $0.isDead = true } }

    private func notify(_ end: Int, _ call: @escaping @Sendable (any LinkObserver) -> Void) {
        calls.add { [state] in
            if let observer = state.withLock({ $0.isDead ? nil : $0.ends[end].observer }) { call(observer) }
        }
    }

    private func reportConnected(_ end: Int, _ address: LinkAddress, _ state: inout State) {
        guard !state.isCut, let connection = state.ends[end].connections[address], !connection.isReported else {
            return
        }
        state.ends[end].connections[address]?.isReported = true
        let epoch = state.epoch
        notify(end) { [state = self.state] observer in
            state.withLock { $0.ends[end].connections[address]?.reportedEpoch = epoch }
            observer.connected(address, as: connection.provenID)
        }
    }
}

// MARK: - From the transport

extension LinkFaults {
    func open(_ end: Int, _ link: FaultInjectingLink, _ observer: any LinkObserver) throws {
        state.withLock { $0.ends[end].observer = observer }
        try link.base.open(link)
    }

    func send(_ packet: LinkPacket, from end: Int, to address: LinkAddress) throws(LinkError) {
        let outcome: Result<[LinkPacket], LinkError> = state.withLock { state in
            guard !state.isDead else { return .success([]) }
            let limit = (state.ends[end].link.lanes[packet.lane]?.bytes ?? 0) - packet.lane.chunkOverhead
            guard packet.bytes.count <= limit else { return .failure(LinkError(.oversized)) }
            guard packet.lane.isLive else { return keep(packet, from: end, to: address, &state) }
            guard let connection = state.ends[end].connections[address], connection.isReported,
                connection.reportedEpoch == state.epoch
            else { return .failure(LinkError(.unreachable)) }
            if let room = state.room {
                guard room > 0 else {
                    state.ends[end].connections[address]?.isBlocked = true
                    return .failure(LinkError(.full))
                }
                state.room = room - 1
            }
            return .success(chunks(of: packet, from: end, to: address, &state))
        }
        let link = state.withLock { $0.ends[end].link }
        for (index, chunk) in try outcome.get().enumerated() {
            do throws(LinkError) {
                try link.send(chunk, to: address)
            } catch {
                // Only the first packet's error matters. The others may be lost.
                if index == 0 { throw error }
            }
        }
    }

    /// Maximum number of packets kept during a cut. On the lane `latest` only the newest of each key is kept.
    private static var keptMax: Int { 4096 }

    private func keep(
        _ packet: LinkPacket, from end: Int, to address: LinkAddress, _ state: inout State
    ) -> Result<[LinkPacket], LinkError> {
        guard state.isCut else { return .success([packet]) }
        if packet.lane == .latest {
            state.ends[end].kept.removeAll {
                $0.packet.lane == .latest && $0.packet.key == packet.key && $0.address == address
            }
        }
        guard state.ends[end].kept.count < Self.keptMax else { return .failure(LinkError(.full)) }
        state.ends[end].kept.append((packet, address))
        return .success([])
    }

    /// Returns the packets to send in place of a packet on a live lane. The packet may be truncated, lost, duplicated
    /// or overtaken by the next one.
    private func chunks(
        of packet: LinkPacket, from end: Int, to address: LinkAddress, _ state: inout State
    ) -> [LinkPacket] {
        var bytes = packet.bytes
        if let passing = state.passing {
            state.passing = max(0, passing - bytes.count)
            if passing < bytes.count {
                guard packet.lane == .stream, passing > 0 else { return [] }
                bytes = Array(bytes.prefix(passing))
            }
        }
        let chunk = Chunk(epoch: state.epoch, sender: UInt8(truncatingIfNeeded: end), bytes: bytes).packet(packet.lane)
        guard packet.lane == .datagram, state.probability > 0 else { return [chunk] }
        let late = state.ends[end].connections[address]?.delayed
        state.ends[end].connections[address]?.delayed = nil
        let overtaken = late.map { [$0] } ?? []
        if state.random.happens(rate: state.probability) { return overtaken }
        if state.random.happens(rate: state.probability) {
            state.ends[end].connections[address]?.delayed = chunk
            return overtaken
        }
        return (state.random.happens(rate: state.probability) ? [chunk, chunk] : [chunk]) + overtaken
    }
}

// MARK: - From the links

extension LinkFaults {
    func found(_ address: LinkAddress, as peerID: String?, at end: Int) {
        notifyAfterCut(end) { $0.found(address, as: peerID) }
    }

    func connected(_ address: LinkAddress, as peerID: String?, at end: Int) {
        state.withLock { state in
            state.ends[end].connections[address] = Connection(provenID: peerID)
            reportConnected(end, address, &state)
        }
        calls.run()
    }

    func received(_ bytes: UnsafeRawBufferPointer, on lane: LinkLane, from address: LinkAddress, at end: Int) {
        guard lane.isLive else {
            let bytes = Array(bytes)
            return notifyAfterCut(end) { $0.received(bytes, on: lane, from: address) }
        }
        state.withLock { state in
            guard var connection = state.ends[end].connections[address] else { return }
            let chunks = lane == .stream ? connection.chunks.read(bytes) : Chunk(datagram: bytes).map { [$0] } ?? []
            if let sender = chunks.last?.sender { connection.peer = Int(sender) }
            state.ends[end].connections[address] = connection
            for chunk in chunks where chunk.epoch == state.epoch && connection.isReported {
                notify(end) { $0.received(chunk.bytes, on: lane, from: address) }
            }
        }
        calls.run()
    }

    func writable(_ address: LinkAddress, at end: Int) {
        notify(end) { $0.writable(address) }
        calls.run()
    }

    func disconnected(_ address: LinkAddress, reason: String?, at end: Int) {
        state.withLock { state in
            let connection = state.ends[end].connections.removeValue(forKey: address)
            if connection?.isReported == true { notify(end) { $0.disconnected(address, reason: reason) } }
        }
        calls.run()
    }

    func failed(_ reason: String, at end: Int) {
        notify(end) { $0.failed(reason) }
        calls.run()
    }

    func closed(_ end: Int) {
        state.withLock { $0.ends[end].observer = nil }
    }

    /// Calls the observer of an end, after the next `mend` if the connections are cut.
    private func notifyAfterCut(_ end: Int, _ call: @escaping @Sendable (any LinkObserver) -> Void) {
        state.withLock { state in
            if state.isCut { state.ends[end].held.append(call) } else { notify(end, call) }
        }
        calls.run()
    }
}

// MARK: - Chunks

/// The unit sent on a live lane: the epoch of the connection, the sender, on a stream the length, and the bytes.
private struct Chunk {
    var epoch: UInt8
    var sender: UInt8
    var bytes: [UInt8]

    init(epoch: UInt8, sender: UInt8, bytes: [UInt8]) {
        (self.epoch, self.sender, self.bytes) = (epoch, sender, bytes)
    }

    init?(datagram: UnsafeRawBufferPointer) {
        guard datagram.count >= 2 else { return nil }
        self.init(epoch: datagram[0], sender: datagram[1], bytes: Array(datagram.dropFirst(2)))
    }

    func packet(_ lane: LinkLane) -> LinkPacket {
        let count = UInt32(truncatingIfNeeded: bytes.count)
        let length = lane == .stream ? withUnsafeBytes(of: count.littleEndian) { Array($0) } : []
        return LinkPacket(lane: lane, bytes: [epoch, sender] + length + bytes)
    }
}

/// Splits a stream into chunks. A chunk may arrive in pieces.
private struct ChunkReader {
    private var header: [UInt8] = []
    private var remaining = 0

    mutating func read(_ bytes: UnsafeRawBufferPointer) -> [Chunk] {
        var chunks: [Chunk] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            if remaining == 0 {
                header.append(rest.removeFirst())
                guard header.count == 6 else { continue }
                remaining = header[2...].reversed().reduce(0) { $0 << 8 | Int($1) }
                if remaining == 0 { header = [] }
                continue
            }
            let piece = rest.prefix(remaining)
            chunks.append(Chunk(epoch: header[0], sender: header[1], bytes: Array(piece)))
            remaining -= piece.count
            rest = rest.dropFirst(piece.count)
            if remaining == 0 { header = [] }
        }
        return chunks
    }
}

extension LinkLane {
    /// Number of bytes that a chunk adds to its content.
    fileprivate var chunkOverhead: Int {
        switch self {
        case .stream: 6
        case .datagram: 2
        case .queue, .latest, .file: 0
        }
    }
}

extension LinkFaults {
    /// Returns the limits of a link's lanes, less the overhead of chunks.
    static func lanes(of link: any TransportLink) -> [LinkLane: PayloadLimit] {
        var lanes = link.lanes
        for (lane, limit) in lanes {
            lanes[lane] = PayloadLimit(
                id: limit.id, bytes: limit.bytes - lane.chunkOverhead, summary: limit.summary, source: limit.source)
        }
        return lanes
    }
}
