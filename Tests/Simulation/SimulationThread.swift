import Foundation
import MeshBase

/// A thread on which tasks run when they are told to, those of the main actor among them: whatever lives on it takes part
/// in a simulation on one thread.
///
/// Jobs that become ready on such a thread wait in its queue, in the order in which they became so; on all other threads
/// everything is as it always is.
@available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
package final class SimulationThread: Sendable {
    private static let current = Locked<[ObjectIdentifier: SimulationThread]>([:])

    private let queue: JobQueue
    private let mainActor: MainActorStandIn
    private let others: GlobalStandIn

    private init() {
        queue = JobQueue()
        mainActor = MainActorStandIn(queue)
        others = GlobalStandIn(queue)
    }

    /// Runs `body` on a thread of its own, and returns when it has returned.
    package static func run<Result: Sendable>(
        _ body: @escaping @Sendable (SimulationThread) -> Result
    ) -> Result {
        _ = isHooked
        let result = Locked<Result?>(nil)
        let isDone = DispatchSemaphore(value: 0)
        let thread = Thread {
            let simulation = SimulationThread()
            let key = ObjectIdentifier(Thread.current)
            current.withLock { $0[key] = simulation }
            let outcome = body(simulation)
            simulation.runAll()
            current.withLock { $0[key] = nil }
            result.withLock { $0 = outcome }
            isDone.signal()
        }
        thread.stackSize = 8 << 20
        thread.start()
        isDone.wait()
        guard let outcome = result.withLock({ $0 }) else { preconditionFailure("the thread has ended") }
        return outcome
    }

    /// Runs everything that can go on until all of it waits.
    package func runAll() { run(rounds: .max) }

    /// Runs what can go on, and then as often what that has made ready.
    func run(rounds: Int) {
        for _ in 0..<rounds {
            let due = queue.takeAll()
            guard !due.isEmpty else { return }
            for next in due {
                if next.isOfMainActor {
                    next.job.runSynchronously(on: mainActor.asUnownedSerialExecutor())
                } else {
                    next.job.runSynchronously(on: others.asUnownedTaskExecutor())
                }
            }
        }
    }

    private static func ofThisThread() -> SimulationThread? {
        current.withLock { $0.isEmpty ? nil : $0[ObjectIdentifier(Thread.current)] }
    }

    // MARK: The runtime's hooks

    private typealias Enqueue = @convention(thin) (UnownedJob) -> Void
    private typealias EnqueueHook = @convention(thin) (UnownedJob, Enqueue) -> Void
    private typealias MainExecutor = @convention(thin) () -> UnownedSerialExecutor
    private typealias MainExecutorHook = @convention(thin) (MainExecutor) -> UnownedSerialExecutor

    private nonisolated(unsafe) static var earlier: EnqueueHook?

    /// Through the one go all jobs that belong to no actor with an executor of its own; the other names the main actor's.
    private static let isHooked: Bool = {
        let library = dlopen(nil, RTLD_LAZY)
        guard let enqueue = dlsym(library, "swift_task_enqueueGlobal_hook"),
            let mainExecutor = dlsym(library, "swift_task_getMainExecutor_hook")
        else { fatalError("the concurrency runtime has no such hooks any more") }
        let hook = enqueue.assumingMemoryBound(to: EnqueueHook?.self)
        earlier = hook.pointee
        hook.pointee = { job, original in
            if let simulation = SimulationThread.ofThisThread() {
                simulation.queue.add(job, isOfMainActor: false)
            } else if let earlier = SimulationThread.earlier {
                earlier(job, original)
            } else {
                original(job)
            }
        }
        mainExecutor.assumingMemoryBound(to: MainExecutorHook?.self).pointee = { original in
            SimulationThread.ofThisThread()?.mainActor.asUnownedSerialExecutor() ?? original()
        }
        return true
    }()
}

private final class JobQueue: Sendable {
    typealias Entry = (job: UnownedJob, isOfMainActor: Bool)

    private let entries = Locked<[Entry]>([])

    func add(_ job: UnownedJob, isOfMainActor: Bool) { entries.withLock { $0.append((job, isOfMainActor)) } }

    func takeAll() -> [Entry] {
        entries.withLock { entries in
            defer { entries = [] }
            return entries
        }
    }
}

/// Runs what is the main actor's, on the thread of the simulation.
@available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
private final class MainActorStandIn: SerialExecutor {
    private let queue: JobQueue

    init(_ queue: JobQueue) { self.queue = queue }

    func enqueue(_ job: consuming ExecutorJob) { queue.add(UnownedJob(job), isOfMainActor: true) }
}

/// Runs what belongs to no actor there. What such a task asks its executor for, as a yield does, waits in the same queue.
@available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
private final class GlobalStandIn: TaskExecutor {
    private let queue: JobQueue

    init(_ queue: JobQueue) { self.queue = queue }

    func enqueue(_ job: consuming ExecutorJob) { queue.add(UnownedJob(job), isOfMainActor: false) }
}
