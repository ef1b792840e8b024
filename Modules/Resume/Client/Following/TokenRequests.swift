import MeshBase

/// Asks the app for its token, with a time limit. An app that doesn't answer delays neither the next attempt nor
/// cancellation.
///
/// While 8 requests are unanswered, `token()` returns nil without asking the app.
final class TokenRequests: Sendable {
    private static let unansweredMax = 8
    private let ask: @Sendable () async -> String?
    private let timeout: Duration
    private let unanswered = Locked(0)

    init(timeout: Duration, _ ask: @escaping @Sendable () async -> String?) {
        self.timeout = timeout
        self.ask = ask
    }

    /// Returns the app's token; nil if the app has none or is late, or if the caller is cancelled.
    func token() async -> String? {
        let isFull = unanswered.withLock { count in
            guard count < Self.unansweredMax else { return true }
            count += 1
            return false
        }
        guard !isFull else { return nil }
        let (answers, answer) = AsyncStream<String?>.makeStream()
        let question = Task {
            let token = await ask()
            unanswered.withLock { $0 -= 1 }
            answer.yield(token)
            answer.finish()
        }
        let clock = Task { [timeout] in
            try await Task.sleep(for: timeout)
            answer.finish()
        }
        defer {
            question.cancel()
            clock.cancel()
        }
        for await token in answers { return token }
        return nil
    }
}
