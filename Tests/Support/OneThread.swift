import Foundation

/// All tasks of a process on the main queue, one after another in the order in which they became ready.
///
/// Virtual time must not pass while a task could still go on. On one thread a yield lets each of the others have its
/// turn; on several, one of which the system has put aside in the midst of its work, no number of yields does. The price
/// is that no test of the process may block: `Tools/test` gives those that bear it a process of their own, in which
/// `MESH_ONE_THREAD` is 1.
package enum OneThread {
    private typealias Enqueue = @convention(thin) (UnownedJob) -> Void
    private typealias Hook = @convention(thin) (UnownedJob, Enqueue) -> Void

    /// From now on, if the environment asks for it. Every virtual world of a test begins with this.
    package static func begin() { _ = isOn }

    private static let isOn: Bool = {
        guard ProcessInfo.processInfo.environment["MESH_ONE_THREAD"] == "1" else { return false }
        // Through this hook of the concurrency runtime go all jobs that belong to no global actor.
        guard let hook = dlsym(dlopen(nil, RTLD_LAZY), "swift_task_enqueueGlobal_hook") else {
            fatalError("MESH_ONE_THREAD is 1, and the concurrency runtime has no such hook any more")
        }
        hook.assumingMemoryBound(to: Hook?.self).pointee = { job, _ in MainActor.shared.enqueue(job) }
        return true
    }()
}
