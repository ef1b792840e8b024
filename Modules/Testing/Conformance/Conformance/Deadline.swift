import MeshBase

/// Performs `work`, and gives up after `limit` even if `work` never returns and ignores cancellation.
///
/// Abandoned work continues in its own task until it notices that it was cancelled.
/// - Returns: nil if the limit came first.
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
    // Reached only if the caller is cancelled, which ends the stream before a result arrives.
    return nil
}
