import MeshBase

/// Runs tasks when it is told to, on the thread that tells it: with it, tasks take part in a simulation on one thread.
@available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
final class ManualExecutor: TaskExecutor {
    private let jobs = Locked<[UnownedJob]>([])

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        jobs.withLock { $0.append(job) }
    }

    /// Runs everything that can go on, in the order in which it became able to, until all of it waits.
    func runAll() {
        while true {
            let due = jobs.withLock { jobs in
                defer { jobs = [] }
                return jobs
            }
            guard !due.isEmpty else { return }
            for job in due { job.runSynchronously(on: asUnownedTaskExecutor()) }
        }
    }
}
