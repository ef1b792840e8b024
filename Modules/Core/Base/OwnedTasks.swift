/// Tasks that are cancelled when their owner is deallocated.
///
/// For an object whose tasks observe streams and refer to it weakly, so that they don't keep it alive.
package final class OwnedTasks: Sendable {
    private let tasks = Locked<[Task<Void, Never>]>([])

    package init() {}

    deinit { cancel() }

    /// Replaces the held tasks, which must have ended or been cancelled.
    package func hold(_ tasks: [Task<Void, Never>]) {
        self.tasks.withLock { $0 = tasks }
    }

    package func cancel() {
        let cancelled = tasks.withLock { tasks in
            defer { tasks = [] }
            return tasks
        }
        for task in cancelled { task.cancel() }
    }

    /// Waits until all tasks that are held now have ended.
    package func finished() async {
        for task in tasks.withLock({ $0 }) { await task.value }
    }
}
