import Foundation
import MeshBase
import MeshIdentity
public import MeshTransport

#if canImport(WatchConnectivity)
    import WatchConnectivity
#else
    import MeshSimulatedWatch
#endif

extension WatchConnectivityLink {
    /// Sends a packet with the session's call for its lane.
    ///
    /// - Throws: `full` if the queue is full, or the session is inactive or talks to another device; `unreachable`,
    ///   `oversized` or `closed`. A packet of the lane `latest` is `oversized` if it doesn't fit next to the other
    ///   keys.
    public func send(_ packet: LinkPacket, to address: LinkAddress) throws(LinkError) {
        guard let limit = lanes[packet.lane] else { throw LinkError(.unreachable, "no lane '\(packet.lane)'") }
        guard packet.bytes.count <= limit.bytes else { throw LinkError(.oversized) }
        switch packet.lane {
        case .datagram: try sendMessage(packet, to: address)
        case .queue: try sendUserInfo(packet, to: address)
        default: try sendLatest(packet, to: address)
        }
    }

    private func sendMessage(_ packet: LinkPacket, to address: LinkAddress) throws(LinkError) {
        let refusal: LinkError? = state.withLock { state in
            guard state.phase == .open else { return LinkError(.closed) }
            return state.address == address && state.isConnected ? nil : LinkError(.unreachable)
        }
        if let refusal { throw refusal }
        session.sendMessageData(
            names.message(packet.bytes, launch: launch), replyHandler: nil,
            errorHandler: { [weak self] in self?.refused(packet, to: address, $0) })
    }

    private func sendUserInfo(_ packet: LinkPacket, to address: LinkAddress) throws(LinkError) {
        let refusal: LinkError? = state.withLock { state in
            guard state.phase == .open else { return LinkError(.closed) }
            guard let count = state.addressStates[address]?.transferCount else { return LinkError(.unreachable) }
            guard state.address == address, state.isActive, count < Self.transfersMax else {
                state.addressStates[address]?.isBlocked = true
                return LinkError(.full)
            }
            state.addressStates[address]?.transferCount += 1
            return nil
        }
        if let refusal { throw refusal }
        let data = Data(packet.bytes)
        session.transferUserInfo([names.key: data])
        if packet.isUrgent { planWake(of: address) { $0.urgent.append(data) } }
    }

    private func sendLatest(_ packet: LinkPacket, to address: LinkAddress) throws(LinkError) {
        let (key, data) = (names.contextKey(of: packet.key), Data(packet.bytes))
        let outcome: Result<(ApplicationContextWriter?, Data?), LinkError> = state.withLock { state in
            guard state.phase == .open else { return .failure(LinkError(.closed)) }
            guard state.addressStates[address] != nil else { return .failure(LinkError(.unreachable)) }
            let earlier = state.addressStates[address]?.latest.updateValue(data, forKey: key)
            return .success((state.address == address ? state.multiplexer?.context : nil, earlier))
        }
        let (context, earlier) = try outcome.get()
        guard let context else { return }
        do throws(SessionSyncError) {
            try context.set(data, for: key)
        } catch {
            state.withLock { $0.addressStates[address]?.latest[key] = earlier }
            throw LinkError(.oversized, "\(error)")
        }
        if packet.isUrgent { planWake(of: address) { $0.urgentLatest[key] = data } }
    }
}
