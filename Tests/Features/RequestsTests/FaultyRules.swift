import Foundation
import MeshConnection

/// Small models of the rules that the reference follows, so that every check is known to be able to fail.

/// Runs whatever comes, as it comes.
struct FaultyInbox {
    private(set) var handled: [Int] = []
    private(set) var contextKeys: Set<UUID> = []
    private var running: [(line: Int, endsAt: Int)] = []

    /// W3, W4: no id is known again. W5: no age is looked at.
    mutating func receive(_ line: Int) { handled.append(line) }

    /// W1: what is not to be answered has no reply handler, and the delegate's other method is not implemented.
    mutating func receiveLive(_ line: Int, isFireAndForget: Bool) {
        if !isFireAndForget { handled.append(line) }
    }

    /// W2: each request has a key of its own, which only its reply removes.
    mutating func receiveContext(_ id: UUID, isFireAndForget: Bool) {
        contextKeys.insert(id)
        if !isFireAndForget { contextKeys.remove(id) }
    }

    /// W9: one task for each, so that they end in the order of their durations.
    mutating func receiveQueued(_ line: Int, takes duration: Int) { running.append((line, duration)) }

    mutating func settle() {
        handled += running.sorted { $0.endsAt < $1.endsAt }.map(\.line)
        running = []
    }
}

/// Waits for replies as they may come.
struct FaultyCaller {
    enum Outcome: Equatable {
        case answered(String)
        case failed(ConnectionError, afterMilliseconds: Int)
        case crashed
    }

    /// W6: the reply handler is gone with the connection.
    static func replyAfterAbsence(timeoutMilliseconds: Int) -> Outcome {
        .failed(.timeout, afterMilliseconds: timeoutMilliseconds)
    }

    /// W7: the place in the queue was looked up before the wait, and the reply has emptied the queue meanwhile.
    static func flush(_ queue: [UUID], replyDuringWait: UUID) -> Outcome {
        let index = 0
        let remaining = queue.filter { $0 != replyDuringWait }
        return remaining.indices.contains(index) ? .answered("ok") : .crashed
    }

    /// W22: each attempt fails at once, so that being queued is three attempts and their gaps.
    static func queuedWhileAway(attempts: Int, reachableAfterMilliseconds: Int) -> Outcome {
        let end = attempts * 200
        return end >= reachableAfterMilliseconds ? .answered("ok") : .failed(.notReachable, afterMilliseconds: end)
    }

    /// W23: nothing listens to cancellation before the timeout.
    static func cancelled(afterMilliseconds: Int, timeoutMilliseconds: Int) -> Outcome {
        .failed(.timeout, afterMilliseconds: timeoutMilliseconds)
    }

    /// W25: what comes through the reply handler is taken, whatever it is about; what does not decode surfaces as it is.
    static func take(_ reply: String, of id: UUID, asked: UUID) -> Outcome { .answered(reply) }

    /// W27: nothing is measured; the platform drops it.
    static func send(bytes: Int, limit: Int, timeoutMilliseconds: Int) -> Outcome {
        bytes <= limit ? .answered("ok") : .failed(.timeout, afterMilliseconds: timeoutMilliseconds)
    }
}
