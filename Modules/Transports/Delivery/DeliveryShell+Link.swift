import MeshBase
import MeshIdentity
import MeshTransport
import MeshWire

// Events from the link.
extension DeliveryShell {
    func found(_ address: LinkAddress, as peerID: String?) {
        perform { state, now in
            guard state.phase != .closed, isNamed(address, peerID, &state) else { return }
            _ = state.line(at: address, setup)
            state.core.found(address, as: peerID, now)
        }
    }

    func connected(_ address: LinkAddress, as peerID: String?) { connected(address, as: peerID, isGuest: false) }

    func connected(_ address: LinkAddress, asGuest peerID: String) { connected(address, as: peerID, isGuest: true) }

    private func connected(_ address: LinkAddress, as peerID: String?, isGuest: Bool) {
        perform { state, now in
            guard state.phase != .closed, isNamed(address, peerID, &state) else { return }
            let line = state.line(at: address, setup)
            line.beginWriting()
            line.beginReading()
            state.core.connected(address, as: peerID, isGuest: isGuest, now)
        }
    }

    /// Returns false, and reports it, if a link that proves peers names none for this address.
    private func isNamed(_ address: LinkAddress, _ peerID: String?, _ state: inout State) -> Bool {
        if peerID != nil || !link.traits.provesPeers { return true }
        state.core.report(.rejected(peerID: nil, reason: "the link named no peer for the address '\(address)'"))
        return false
    }

    func received(_ bytes: UnsafeRawBufferPointer, on lane: LinkLane, from address: LinkAddress) {
        guard let line = state.withLock({ $0.lines[address] }) else { return }
        pass([line.frames(in: bytes, on: lane, now: clock.elapsed)], on: lane, from: address)
    }

    func received(datagrams: [[UInt8]], from address: LinkAddress) {
        guard let line = state.withLock({ $0.lines[address] }) else { return }
        let now = clock.elapsed
        let arrivals = datagrams.map { datagram in
            datagram.withUnsafeBytes { line.frames(in: $0, on: .datagram, now: now) }
        }
        pass(arrivals, on: .datagram, from: address)
    }

    private func pass(_ arrivals: [DeliveryLine.Arrival], on lane: LinkLane, from address: LinkAddress) {
        guard arrivals.contains(where: { !$0.isEmpty }) else { return }
        perform(passesOn: true) { state, now in
            for arrival in arrivals where state.phase != .closed {
                do throws(WireError) {
                    try state.core.receive(arrival.frames, on: lane, from: address, now)
                    if let known = arrival.identities { state.core.scheduleIdentityReport(known, to: address, now) }
                    if let failure = arrival.failure { throw failure }
                } catch {
                    state.core.cannotRead(from: address, on: lane, error, now)
                }
            }
        }
    }

    /// Sends the packet's best-effort messages by a kept lane, if there is one. Reliable ones need nothing: receipts
    /// show that they are missing.
    func undelivered(_ packet: LinkPacket, to address: LinkAddress) {
        perform { state, _ in
            guard state.phase != .closed, let line = state.lines[address] else { return }
            for message in line.messages(in: packet) { state.core.undelivered(message, at: address) }
        }
    }

    func writable(_ address: LinkAddress) {
        state.withLock { state in
            state.lines[address]?.outgoing.hasBecomeWritable = true
            state.lines[address]?.outgoing.isBlocked = false
        }
        flush([address])
    }

    func disconnected(_ address: LinkAddress, reason: String?) {
        perform { state, now in
            let line = state.lines[address]
            let isCut = line.map { !$0.isAtFrameBoundary } ?? false
            line?.outgoing.encoder = nil
            line?.forgetUnsent()
            line?.beginReading()
            if state.core.settings.keptLane == nil { state.lines[address] = nil }
            state.core.disconnected(address, reason: reason ?? (isCut ? "the input ended within a frame" : nil), now)
        }
    }

    func failed(_ reason: String) {
        problems.report(.transportFailed(localPeer.id, reason), isMistake: false)
        perform { state, now in
            for address in state.lines.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
                state.core.disconnected(address, reason: reason, now)
            }
            if state.lines.isEmpty { state.core.report(.rejected(peerID: nil, reason: reason)) }
            state.lines.removeAll()
        }
    }
}

// Calls to the link.
extension DeliveryShell {
    /// Updates the guests of the core, and then those of the link. In this order, a former guest gets nothing more
    /// while its connection ends.
    func admit(guests: Set<String>, to scope: Guests.Scope) {
        guard let link = link as? any GuestAdmittingLink else { return }
        let hasChanged = perform { state, _ in
            state.phase != .closed && state.core.admit(guests: guests, to: scope)
        }
        guard hasChanged else { return }
        // The set is read inside the lock, so the later of two calls passes on the result of both.
        guestUpdate.withLock { _ in link.admit(guests: state.withLock { $0.core.guests.all }) }
    }
}
