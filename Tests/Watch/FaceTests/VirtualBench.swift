import MeshBase
import SessionMeshWatchConnectivity
import Testing

/// Virtual time, which moves a little whenever every task has done what it can.
@MainActor
protocol VirtualBench {
    var elapsed: Duration { get }
    /// For failures: what makes the same happen again.
    var world: String { get }
    func advance()
}

extension VirtualBench {
    func run(for duration: Duration = .milliseconds(100)) async {
        let end = elapsed + duration
        while elapsed < end { await step() }
    }

    func run(
        within patience: Duration = .seconds(120), sourceLocation: SourceLocation = #_sourceLocation,
        until condition: () -> Bool
    ) async {
        let end = elapsed + patience
        while !condition() {
            guard elapsed < end else {
                Issue.record("nothing has come of it; \(world)", sourceLocation: sourceLocation)
                return
            }
            await step()
        }
    }

    func finish<Value: Sendable>(
        sourceLocation: SourceLocation = #_sourceLocation, _ body: @escaping @MainActor () async throws -> Value
    ) async throws -> Value {
        let isOver = Locked(false)
        let task = Task {
            defer { isOver.withLock { $0 = true } }
            return try await body()
        }
        await run(sourceLocation: sourceLocation) { isOver.withLock { $0 } }
        return try await task.value
    }

    /// What a call throws.
    func failure<Value: Sendable>(of body: @escaping @MainActor () async throws -> Value) async -> WatchConnectionError?
    {
        do {
            _ = try await finish(body)
            return nil
        } catch {
            return error as? WatchConnectionError
        }
    }

    func step() async {
        advance()
        await turns()
    }
}

/// Lets every task do what it can: what is behind another one in the queue runs after it.
func turns() async {
    for _ in 0..<12 {
        await Task.yield()
        await Task.detached {}.value
    }
}
