/// Tasks that live no longer than their owner: they are cancelled when this goes.
///
/// For a shell that listens on behalf of an object which nothing but its user keeps alive; the tasks refer to that
/// object weakly.
package final class OwnedTasks: Sendable {
    private let tasks = Locked<[Task<Void, Never>]>([])

    package init() {}

    deinit { cancel() }

    /// Takes these in place of the ones held before, which have ended or have been cancelled.
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

    /// Returns when every task that is held now has ended.
    package func finished() async {
        for task in tasks.withLock({ $0 }) { await task.value }
    }
}
