import MeshBase
import MeshTransport

extension DeliveryClock {
    /// Returns after this duration by this clock.
    /// - Throws: `CancellationError`, immediately when the task is cancelled.
    func wait(_ duration: Duration) async throws {
        let waiter = Locked<(continuation: CheckedContinuation<Void, Never>?, isOver: Bool)>((nil, false))
        @Sendable func end() {
            let continuation = waiter.withLock { waiter in
                waiter.isOver = true
                return waiter.continuation.take()
            }
            continuation?.resume()
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = waiter.withLock { waiter in
                    if !waiter.isOver { waiter.continuation = continuation }
                    return waiter.isOver
                }
                if isOver { continuation.resume() } else { wake(at: elapsed + duration) { end() } }
            }
        } onCancel: {
            end()
        }
        try Task.checkCancellation()
    }
}
