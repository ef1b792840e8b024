import Foundation
import MeshBase

/// A thread that runs tasks only on request, including tasks of the main actor. So a simulation on one thread can use
/// code that needs tasks or the main actor.
///
/// Jobs that become ready on such a thread wait in its queue, in the order in which they became ready. Other threads
/// are unaffected.
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

    /// Runs `body` on a new thread, and returns when `body` has returned.
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

    /// Runs all ready jobs until every task waits.
    package func runAll() { run(rounds: .max) }

    /// Runs the ready jobs, then the jobs that these have made ready, for up to this many rounds.
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

    /// Installs two hooks at first use. The runtime passes jobs without an executor of their own to the first hook. It
    /// asks the second one for the main executor.
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

/// An executor that runs the main actor's jobs on the simulation's thread.
@available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
private final class MainActorStandIn: SerialExecutor {
    private let queue: JobQueue

    init(_ queue: JobQueue) { self.queue = queue }

    func enqueue(_ job: consuming ExecutorJob) { queue.add(UnownedJob(job), isOfMainActor: true) }
}

/// An executor that runs jobs without an actor on the simulation's thread. A task that yields is queued here, too.
@available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
private final class GlobalStandIn: TaskExecutor {
    private let queue: JobQueue

    init(_ queue: JobQueue) { self.queue = queue }

    func enqueue(_ job: consuming ExecutorJob) { queue.add(UnownedJob(job), isOfMainActor: false) }
}
