import MeshBase
import MeshIdentity
import MeshTransport
import MeshWire

extension DeliveryShell {
    func open() throws {
        let isFirst = try state.withLock { state in
            switch state.phase {
            case .idle: state.phase = .open
            case .open: return false
            case .closing, .closed: throw SessionSyncError.closed
            }
            return true
        }
        guard isFirst else { return }
        do {
            try link.open(self)
        } catch {
            state.withLock { $0.phase = .idle }
            throw error
        }
    }

    /// Sends accepted messages, says goodbye, and closes. After `grace` it gives up on messages that the link hasn't
    /// taken.
    func close(grace: Duration) async {
        let (isMine, waiters) = state.withLock { state in
            let isMine = state.phase == .idle || state.phase == .open
            if isMine { state.phase = .closing }
            return (isMine, state.takeWaiters())
        }
        for waiter in waiters { waiter.resume() }
        guard isMine else { return }
        if let archive { try? await archive.flush(since: archive.notedCount) }
        perform { state, _ in state.core.reportNow() }
        let deadline = ContinuousClock.now + grace
        while hasUnsent(), ContinuousClock.now < deadline { try? await Task.sleep(for: .milliseconds(1)) }
        flush(queueGoodbyes(WireGoodbye(.closing)))
        await link.close()
        // Records the messages that subscribers have finished, so that they aren't offered again.
        if let archive {
            store()
            await archive.finish()
        }
        end()
    }

    /// Ends without a goodbye, because the transport was released.
    func abandon() {
        let isMine = state.withLock { state in
            defer { state.phase = .closed }
            return state.phase == .open || state.phase == .idle
        }
        guard isMine else { return }
        let link = link
        Task { await link.close() }
        end()
    }

    private func end() {
        state.withLock { state in
            state.phase = .closed
            state.lines.removeAll()
        }
        inbox.close()
        archive?.end()
    }

    private func hasUnsent() -> Bool {
        flush(state.withLock { Array($0.lines.keys) })
        return state.withLock { state in
            let hasPackets = state.lines.values.contains { !$0.outgoing.packets.isEmpty || $0.outgoing.isSending }
            return hasPackets || (clock.passesByItself && state.core.awaitsAcknowledgements)
        }
    }

    private func queueGoodbyes(_ goodbye: WireGoodbye) -> [LinkAddress] {
        state.withLock { state in
            let addresses = state.lines.keys.sorted { $0.rawValue < $1.rawValue }
            for address in addresses { state.core.queueGoodbye(goodbye, to: address) }
            return addresses
        }
    }
}

// MARK: - The store

extension DeliveryShell {
    func store() {
        let inbox = inbox
        archive?.write(
            doneCount: { inbox.durableDoneCount },
            conclude: { [weak self] take in
                guard let self else {
                    _ = take()
                    return
                }
                perform { state, now in
                    let outcome = take()
                    if let error = outcome.error {
                        state.core.notStored(outcome.changes, reason: "\(error)", now)
                    } else {
                        state.core.stored(outcome.changes, now)
                    }
                }
            })
    }
}
