import MeshBase
import MeshTransport

/// Faults of a link, each for the rule that must detect it.
enum LinkFault: String, CaseIterable, Sendable {
    case offersNothing, changesItsLanes, connectsTwice
    case sendsUnopened, takesStrangers, sendsAfterClosing, takesAnySize, refusesTheLargest, losesAnswers
    case losesStreamBytes, swapsPackets, cutsDatagrams, mixesLanes, neverWritable
    case hidesTheEnd, keepsTheDisplaced
    case deliversWhileApart, carriesOver, keepsTheLastBack, callsAfterClosing, holdsItsObserver
    case losesWhatWaits, swapsWhatWaits, repeatsTheUrgent, keepsTheOldest, provesNothing
}

/// A correct link with one fault. It decorates the link, so that the fault is the only difference.
final class FaultyLink: LinkWrapper, LinkObserver {
    private struct State {
        var observer: (any LinkObserver)?
        var isConnected = false
        var connectionCount = 0
        var packetCount = 0
        var isReceiving = false
        var isClosed = false
        var last: (bytes: [UInt8], lane: LinkLane, address: LinkAddress)?
        var held: LinkPacket?
        var isOpen = false
    }

    let base: any TransportLink
    private let fault: LinkFault?
    private let state = Locked(State())

    init(_ base: any TransportLink, _ fault: LinkFault?) {
        self.base = base
        self.fault = fault
    }

    var lanes: [LinkLane: PayloadLimit] {
        switch fault {
        case .offersNothing: [:]
        case .changesItsLanes where state.withLock({ $0.isOpen }):
            base.lanes.filter { $0.key != .datagram }
        default: base.lanes
        }
    }

    // MARK: Sending

    func open(_ observer: any LinkObserver) throws {
        state.withLock {
            $0.observer = observer
            $0.isOpen = true
        }
        try base.open(self)
    }

    func send(_ packet: LinkPacket, to address: LinkAddress) throws(LinkError) {
        switch fault {
        case .refusesTheLargest where packet.bytes.count == lanes[packet.lane]?.bytes: throw LinkError(.oversized)
        case .losesAnswers where state.withLock({ $0.isReceiving }): return
        case .losesStreamBytes where packet.lane == .stream && packet.bytes.count > 50:
            try base.send(LinkPacket(lane: .stream, bytes: packet.bytes.dropLast()), to: address)
        case .mixesLanes where packet.lane == .datagram:
            try base.send(LinkPacket(lane: .stream, bytes: packet.bytes), to: address)
        case .neverWritable:
            let count = state.withLock { state in
                state.packetCount += 1
                return state.packetCount
            }
            guard count <= 100 else { throw LinkError(.full) }
            try base.send(packet, to: address)
        case .losesWhatWaits where !packet.lane.isLive: return
        case .keepsTheOldest where packet.lane == .latest && packet.bytes.last != 1: return
        case .swapsPackets where packet.lane == .stream, .swapsWhatWaits where !packet.lane.isLive:
            guard let earlier = hold(packet, if: { $0 == nil }) else { return }
            try base.send(packet, to: address)
            try base.send(earlier, to: address)
        case .repeatsTheUrgent where packet.isUrgent:
            for _ in 0..<2 { try base.send(packet, to: address) }
        case .keepsTheLastBack:
            guard let earlier = hold(packet, if: { _ in true }) else { return }
            try base.send(earlier, to: address)
        default: try sendPastChecks(packet, to: address)
        }
    }

    /// - Returns: the packet that was held before.
    private func hold(_ packet: LinkPacket, if isHeld: (LinkPacket?) -> Bool) -> LinkPacket? {
        state.withLock { state in
            defer { state.held = isHeld(state.held) ? packet : nil }
            return state.held
        }
    }

    /// Sends without the error that the fault suppresses.
    private func sendPastChecks(_ packet: LinkPacket, to address: LinkAddress) throws(LinkError) {
        let (isOpen, isClosed) = state.withLock { ($0.isOpen, $0.isClosed) }
        do throws(LinkError) {
            try base.send(packet, to: address)
        } catch {
            switch (fault, error.code) {
            case (.sendsUnopened, .closed) where !isOpen: return
            case (.sendsAfterClosing, .closed) where isClosed: return
            case (.takesStrangers, .unreachable): return
            case (.takesAnySize, .oversized): return
            default: throw error
            }
        }
    }

    func disconnect(_ address: LinkAddress) { if fault != .keepsTheDisplaced { base.disconnect(address) } }

    func close() async {
        await base.close()
        let (isFirst, observer) = state.withLock { state in
            defer {
                state.isClosed = true
                if fault != .holdsItsObserver, fault != .callsAfterClosing { state.observer = nil }
            }
            return (!state.isClosed, state.observer)
        }
        if fault == .callsAfterClosing, !isFirst { observer?.writable("late") }
    }

    // MARK: Observing

    private var observer: (any LinkObserver)? { state.withLock { $0.observer } }

    func found(_ address: LinkAddress, as peerID: String?) {
        observer?.found(address, as: fault == .provesNothing ? nil : peerID)
    }

    func connected(_ address: LinkAddress, as peerID: String?) {
        let (count, last) = state.withLock { state in
            state.isConnected = true
            state.connectionCount += 1
            return (state.connectionCount, state.last)
        }
        observer?.connected(address, as: fault == .provesNothing ? nil : peerID)
        if fault == .connectsTwice { observer?.connected(address, as: peerID) }
        if fault == .carriesOver, count > 1, let last {
            observer?.received(last.bytes, on: last.lane, from: last.address)
        }
    }

    func received(_ bytes: UnsafeRawBufferPointer, on lane: LinkLane, from address: LinkAddress) {
        state.withLock {
            $0.isReceiving = true
            if lane.isLive { $0.last = (Array(bytes), lane, address) }
        }
        if fault == .cutsDatagrams, lane == .datagram, bytes.count > 1 {
            let middle = bytes.count / 2
            observer?.received(UnsafeRawBufferPointer(rebasing: bytes[..<middle]), on: lane, from: address)
            observer?.received(UnsafeRawBufferPointer(rebasing: bytes[middle...]), on: lane, from: address)
        } else {
            observer?.received(bytes, on: lane, from: address)
        }
        state.withLock { $0.isReceiving = false }
    }

    func writable(_ address: LinkAddress) { observer?.writable(address) }

    func disconnected(_ address: LinkAddress, reason: String?) {
        if fault == .hidesTheEnd { return }
        observer?.disconnected(address, reason: reason)
        if fault == .deliversWhileApart, let last = state.withLock({ $0.last }) {
            observer?.received(last.bytes, on: last.lane, from: last.address)
        }
    }

    func failed(_ reason: String) { observer?.failed(reason) }
}
