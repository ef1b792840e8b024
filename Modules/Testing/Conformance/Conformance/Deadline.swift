import MeshBase

/// Performs `work` and gives up on it after `limit`, even when it never returns and ignores cancellation.
///
/// What was given up goes on in a task of its own until it notices that it was cancelled.
/// - Returns: nil when the limit came first.
func withDeadline<Result: Sendable>(
    _ limit: Duration, _ work: @escaping @Sendable () async -> Result
) async -> Result? {
    let race = Topic<Result?>(bufferLimit: 2)
    let finish = race.subscribe()
    let worker = Task { race.publish(await work()) }
    let timer = Task {
        try? await Task.sleep(for: limit)
        if !Task.isCancelled { race.publish(nil) }
    }
    defer {
        timer.cancel()
        worker.cancel()
        race.finish()
    }
    for await result in finish { return result }
    // Only a cancelled caller comes here: its stream ends before either has finished.
    return nil
}
