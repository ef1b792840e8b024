/// A multicast of typed elements: every subscriber is independent and bounded.
///
/// A topic serves the bus, and every stream that a transport or a session hands out. Publishing never waits: when a
/// subscriber's buffer is full, the topic drops by its stated policy and counts what it dropped.
///
/// Safe to use from any thread. `publish` is O(subscribers); without any it is one look at a counter.
public final class Topic<Element: Sendable>: Sendable {
    /// What a subscriber's full buffer does with one more element.
    public enum OverflowPolicy: Sendable {
        /// The oldest waiting element makes room: right for values of which the newest matters.
        case dropOldest
        /// The new element is dropped: right where what waits must stay in order without a hole before its end.
        case dropNewest
    }

    private struct Subscribers {
        var continuations: [(id: UInt64, continuation: AsyncStream<Element>.Continuation)] = []
        var nextID: UInt64 = 0
        var latest: Element?
        var droppedCount: UInt64 = 0
        var isFinished = false
    }

    /// How many elements wait for a slow subscriber before the policy applies.
    public let bufferLimit: Int
    public let overflow: OverflowPolicy
    /// Whether a new subscriber receives the latest element at once.
    public let replaysLatest: Bool

    private let subscribers = Locked(Subscribers())
    /// How many there are, for `publish` to read without the lock.
    @usableFromInline let audience = TopicAudience()
    /// Held while elements are handed over, so that every subscriber sees one order. A lock of its own: handing over
    /// wakes a task, which takes that task's lock, and cancelling a task unsubscribes while holding it. Whoever
    /// unsubscribes must therefore never wait for whoever hands over.
    private let turn = Locked(())

    public init(bufferLimit: Int = 256, overflow: OverflowPolicy = .dropOldest, replaysLatest: Bool = false) {
        precondition(bufferLimit > 0, "a topic needs room for one element")
        self.bufferLimit = bufferLimit
        self.overflow = overflow
        self.replaysLatest = replaysLatest
    }

    deinit { finish() }

    /// Hands `element` to every subscriber, in the order in which calls enter. Does nothing once finished.
    @inlinable
    public func publish(_ element: Element) {
        if !replaysLatest, audience.isEmpty { return }
        deliver(element)
    }

    @usableFromInline
    func deliver(_ element: Element) {
        turn.withLock { _ in
            let receivers = subscribers.withLock { subscribers in
                if replaysLatest, !subscribers.isFinished { subscribers.latest = element }
                return subscribers.continuations
            }
            var droppedCount: UInt64 = 0
            for (_, continuation) in receivers {
                if case .dropped = continuation.yield(element) { droppedCount += 1 }
            }
            if droppedCount > 0 { subscribers.withLock { $0.droppedCount += droppedCount } }
        }
    }

    /// A stream of its own for each call. It ends when the topic finishes; leaving the loop unsubscribes.
    ///
    /// Elements published after this call returns are in the stream, however late the first `next` comes.
    public func subscribe() -> AsyncStream<Element> { subscribe(startingWith: []) }

    /// A stream that begins with elements which the caller has kept for late subscribers.
    package func subscribe(startingWith kept: [Element]) -> AsyncStream<Element> {
        let policy: AsyncStream<Element>.Continuation.BufferingPolicy =
            switch overflow {
            case .dropOldest: .bufferingNewest(bufferLimit)
            case .dropNewest: .bufferingOldest(bufferLimit)
            }
        let (stream, continuation) = AsyncStream.makeStream(of: Element.self, bufferingPolicy: policy)
        // Nobody waits on the new stream yet, so that yielding to it wakes no task.
        let id: UInt64? = turn.withLock { _ in
            subscribers.withLock { subscribers in
                guard !subscribers.isFinished else { return nil }
                subscribers.nextID += 1
                subscribers.continuations.append((subscribers.nextID, continuation))
                audience.set(subscribers.continuations.count)
                for element in kept { continuation.yield(element) }
                if let latest = subscribers.latest { continuation.yield(latest) }
                return subscribers.nextID
            }
        }
        guard let id else {
            continuation.finish()
            return stream
        }
        continuation.onTermination = { [weak self] _ in self?.unsubscribe(id) }
        return stream
    }

    /// Ends every subscriber's stream after what it still holds. Idempotent.
    public func finish() {
        let ended = subscribers.withLock { subscribers in
            subscribers.isFinished = true
            subscribers.latest = nil
            audience.set(0)
            defer { subscribers.continuations = [] }
            return subscribers.continuations
        }
        // Outside the lock: finishing calls `onTermination`, which takes it.
        for (_, continuation) in ended { continuation.finish() }
    }

    public var subscriberCount: Int { subscribers.withLock { $0.continuations.count } }

    /// How many elements were dropped because a subscriber's buffer was full, over all subscribers so far.
    public var droppedCount: UInt64 { subscribers.withLock { $0.droppedCount } }

    private func unsubscribe(_ id: UInt64) {
        subscribers.withLock { subscribers in
            subscribers.continuations.removeAll { $0.id == id }
            audience.set(subscribers.continuations.count)
        }
    }
}

/// The name under which plugins find the same topic on the bus, with the topic's bound and policy.
///
/// Declared once by the module that owns the element type, as a static constant.
public struct TopicKey<Element: Sendable>: Sendable {
    public let id: String
    public let bufferLimit: Int
    public let overflow: Topic<Element>.OverflowPolicy
    public let replaysLatest: Bool

    public init(
        _ id: String, bufferLimit: Int = 256, overflow: Topic<Element>.OverflowPolicy = .dropOldest,
        replaysLatest: Bool = false
    ) {
        self.id = id
        self.bufferLimit = bufferLimit
        self.overflow = overflow
        self.replaysLatest = replaysLatest
    }

    func makeTopic() -> Topic<Element> {
        Topic(bufferLimit: bufferLimit, overflow: overflow, replaysLatest: replaysLatest)
    }
}
