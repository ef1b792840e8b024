import Foundation
import MeshConnection

/// Small models of the reference's rules. They prove that every check can fail.

/// Runs everything as it arrives.
struct FaultyInbox {
    private(set) var handled: [Int] = []
    private(set) var contextKeys: Set<UUID> = []
    private var running: [(line: Int, endsAt: Int)] = []

    /// W3, W4: no id is recognized again. W5: no age is checked.
    mutating func receive(_ line: Int) { handled.append(line) }

    /// W1: a message that needs no answer has no reply handler, and the delegate doesn't implement the other method.
    mutating func receiveLive(_ line: Int, isFireAndForget: Bool) {
        if !isFireAndForget { handled.append(line) }
    }

    /// W2: each request has its own key, which only its reply removes.
    mutating func receiveContext(_ id: UUID, isFireAndForget: Bool) {
        contextKeys.insert(id)
        if !isFireAndForget { contextKeys.remove(id) }
    }

    /// W9: each request runs in its own task, so they end in the order of their durations.
    mutating func receiveQueued(_ line: Int, takes duration: Int) { running.append((line, duration)) }

    mutating func settle() {
        handled += running.sorted { $0.endsAt < $1.endsAt }.map(\.line)
        running = []
    }
}

/// Waits for replies, with the reference's faults.
struct FaultyCaller {
    enum Outcome: Equatable {
        case answered(String)
        case failed(ConnectionError, afterMilliseconds: Int)
        case crashed
    }

    /// W6: the reply handler is lost with the connection.
    static func replyAfterAbsence(timeoutMilliseconds: Int) -> Outcome {
        .failed(.timeout, afterMilliseconds: timeoutMilliseconds)
    }

    /// W7: the queue index is looked up before the wait. Meanwhile the reply empties the queue.
    static func flush(_ queue: [UUID], replyDuringWait: UUID) -> Outcome {
        let index = 0
        let remaining = queue.filter { $0 != replyDuringWait }
        return remaining.indices.contains(index) ? .answered("ok") : .crashed
    }

    /// W22: each attempt fails at once, so a queued request lasts for three attempts and the gaps between them.
    static func queuedWhileAway(attempts: Int, reachableAfterMilliseconds: Int) -> Outcome {
        let end = attempts * 200
        return end >= reachableAfterMilliseconds ? .answered("ok") : .failed(.notReachable, afterMilliseconds: end)
    }

    /// W23: cancellation has no effect before the timeout.
    static func cancelled(afterMilliseconds: Int, timeoutMilliseconds: Int) -> Outcome {
        .failed(.timeout, afterMilliseconds: timeoutMilliseconds)
    }

    /// W25: every reply that arrives through the reply handler is accepted. If it doesn't decode, it surfaces as it is.
    static func take(_ reply: String, of id: UUID, asked: UUID) -> Outcome { .answered(reply) }

    /// W27: sizes aren't checked. The platform drops the message.
    static func send(bytes: Int, limit: Int, timeoutMilliseconds: Int) -> Outcome {
        bytes <= limit ? .answered("ok") : .failed(.timeout, afterMilliseconds: timeoutMilliseconds)
    }
}
