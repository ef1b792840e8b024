import Dispatch
import Foundation
import MeshBase
import MeshDelivery
import MeshTestSupport
import MeshTransport
import Testing

/// The transport never wakes a subscriber while it holds its lock.
@Suite struct WakingTests {
    @available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
    @Test func `While a subscriber is being woken, a cancellation handler elsewhere calls the transport`() async throws
    {
        let pair = try Pair()
        pair.wire.connect()
        pair.settle()
        let executor = WatchedExecutor()
        let hasCalled = DispatchSemaphore(value: 0)
        let inTime = Locked(false)
        let (envelopes, right) = (pair.right.receiveEnvelopes(), pair.right)
        let subscriber = Task(executorPreference: executor) {
            await withTaskCancellationHandler {
                for await _ in envelopes {}
            } onCancel: {
                _ = right.knownPeers
                hasCalled.signal()
            }
        }
        await eventually { executor.isIdle }
        executor.onWake {
            Thread.detachNewThread { subscriber.cancel() }
            // Only a deadlock takes this long.
            let isInTime = hasCalled.wait(timeout: .now() + 600) == .success
            inTime.withLock { $0 = isInTime }
        }
        try await pair.left.send(envelope(1), mode: .reliableEventually, to: nil)
        await subscriber.value
        #expect(executor.hasWoken, "the subscriber was not waiting")
        #expect(inTime.withLock { $0 }, "the transport's lock is held while a subscriber is woken")
    }
}

/// Runs its tasks on a queue. Calls a hook when a task is woken, on the thread that wakes it.
@available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
private final class WatchedExecutor: TaskExecutor {
    private struct State {
        var begun = 0
        var ended = 0
        var onWake: (@Sendable () -> Void)?
        var hasWoken = false
    }

    private let queue = DispatchQueue(label: "watched executor")
    private let state = Locked(State())

    /// True if every job that began has ended, so the tasks wait for something.
    var isIdle: Bool { state.withLock { $0.begun > 0 && $0.begun == $0.ended } }
    var hasWoken: Bool { state.withLock { $0.hasWoken } }

    /// Calls `body` with the next job, once.
    func onWake(_ body: @escaping @Sendable () -> Void) { state.withLock { $0.onWake = body } }

    func enqueue(_ job: consuming ExecutorJob) {
        let notice = state.withLock { state in
            state.begun += 1
            state.hasWoken = state.hasWoken || state.onWake != nil
            return state.onWake.take()
        }
        notice?()
        let job = UnownedJob(job)
        queue.async { [self] in
            job.runSynchronously(on: asUnownedTaskExecutor())
            state.withLock { $0.ended += 1 }
        }
    }
}
