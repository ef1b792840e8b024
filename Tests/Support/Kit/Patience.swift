/// The maximum time that tests wait for real sockets and other programs. Only a failing test waits so long, so no
/// result depends on how busy the machine is.
package let patience = Duration.seconds(180)

package struct WaitTimedOut: Error, CustomStringConvertible {
    package let description: String

    package init(description: String) { self.description = description }
}

/// Returns as soon as the condition holds.
/// - Throws: `WaitedInVain` after `patience`.
package func eventually(_ expectation: String, _ condition: () -> Bool) async throws {
    let end = ContinuousClock.now + patience
    while ContinuousClock.now < end {
        if condition() { return }
        try await Task.sleep(for: .milliseconds(2))
    }
    if !condition() { throw WaitTimedOut(description: "timed out waiting for \(expectation)") }
}

/// Returns the result of `body`, which is cancelled after `patience`.
package func patiently<Result: Sendable>(_ body: @escaping @Sendable () async -> Result) async -> Result {
    let work = Task { await body() }
    let end = Task {
        try await Task.sleep(for: patience)
        work.cancel()
    }
    defer { end.cancel() }
    return await withTaskCancellationHandler {
        await work.value
    } onCancel: {
        work.cancel()
    }
}

extension Program {
    /// Returns the next line as `line()` does, or nil also after `patience`.
    package func nextLine() async -> String? { await patiently { await self.line() } }

    /// Returns all remaining lines.
    package func allLines() async -> [String] {
        var lines: [String] = []
        while let line = await nextLine() { lines.append(line) }
        return lines
    }
}
