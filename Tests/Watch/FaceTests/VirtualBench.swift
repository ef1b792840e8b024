import MeshBase
import SessionMeshWatchConnectivity
import Testing

/// Virtual time, which advances a little after all tasks have run as far as they can.
@MainActor
protocol VirtualBench {
    var elapsed: Duration { get }
    /// A description for failures, with everything needed to reproduce them.
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
                Issue.record("it had no effect; \(world)", sourceLocation: sourceLocation)
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

    /// The error that a call throws.
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

/// Lets every task run as far as it can, including tasks that wait behind others in the queue.
func turns() async {
    for _ in 0..<12 {
        await Task.yield()
        await Task.detached {}.value
    }
}
