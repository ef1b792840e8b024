import MeshBase
import MeshIdentity
import MeshTransport

extension DeliveryShell {
    /// Accepts messages for the same receivers, and waits while there is no space. Reliable messages also wait for the
    /// store, if there is one. Suspends only to wait.
    func submit(
        _ items: [DeliveryCore.Item], mode: SessionDeliveryMode, to peerID: String?,
        isolation: isolated (any Actor)? = nil
    ) async throws {
        let notedCount = archive?.notedCount ?? 0
        var next = 0
        while next < items.count {
            try Task.checkCancellation()
            let waiter: UInt64? = try perform { state, now in
                try state.accept(items, from: &next, mode: mode, to: peerID, now) ? nil : state.addWaiter()
            }
            if let waiter { try await wait(waiter) }
        }
        if let archive, mode == .reliableEventually { try await archive.flush(since: notedCount) }
    }

    /// Accepts best-effort messages, which leave in the next turn.
    /// - Returns: false if it accepted none.
    func hold(_ items: [DeliveryCore.Item], for peerID: String?) -> Bool {
        perform { state, now in
            var next = 0
            _ = try? state.accept(items, from: &next, mode: .acknowledgement, to: peerID, now)
            state.holdsFrames = true
            return next > 0
        }
    }

    private func wait(_ waiter: UInt64) async throws {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let isDue = state.withLock { state in
                    guard state.waiters[waiter] != nil else { return true }
                    state.waiters[waiter] = .some(continuation)
                    return false
                }
                if isDue { continuation.resume() }
            }
        } onCancel: {
            let continuation = state.withLock { $0.waiters.removeValue(forKey: waiter) ?? nil }
            continuation?.resume(throwing: CancellationError())
        }
    }
}

extension DeliveryShell.State {
    /// - Parameter next: index of the first message that isn't accepted yet.
    /// - Returns: true if all were accepted.
    mutating func accept(
        _ items: [DeliveryCore.Item], from next: inout Int, mode: SessionDeliveryMode, to peerID: String?,
        _ now: DeliveryTime
    ) throws -> Bool {
        guard phase == .idle || phase == .open else { throw SessionSyncError.closed }
        next += core.sendTogether(items[next...], mode: mode, to: peerID)
        while next < items.count {
            guard case .accepted = try core.send(items[next], mode: mode, to: peerID, now) else { return false }
            next += 1
        }
        return true
    }

    /// Adds a waiter. Must be called in the turn that found no space, so that freed space isn't missed.
    mutating func addWaiter() -> UInt64 {
        nextWaiter += 1
        waiters.updateValue(nil, forKey: nextWaiter)
        return nextWaiter
    }

    mutating func takeWaiters() -> [CheckedContinuation<Void, any Error>] {
        defer { waiters.removeAll() }
        return waiters.keys.sorted().compactMap { waiters[$0] ?? nil }
    }

    mutating func line(at address: LinkAddress, _ setup: LineSetup) -> DeliveryLine {
        if let line = lines[address] { return line }
        let line = DeliveryLine(setup)
        lines[address] = line
        return line
    }
}
