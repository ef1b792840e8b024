import MeshBase

/// An executor that runs tasks only on request, on the calling thread. Lets a simulation run tasks on one thread.
@available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
final class ManualExecutor: TaskExecutor {
    private let jobs = Locked<[UnownedJob]>([])

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        jobs.withLock { $0.append(job) }
    }

    /// Runs all ready tasks, in the order in which they became ready, until every task waits.
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
