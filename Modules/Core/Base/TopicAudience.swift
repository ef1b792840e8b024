#if !canImport(Darwin)
    public import Synchronization
#endif

/// How many subscribers a topic has. Written by whoever holds the topic's lock, read by `publish` without it.
///
/// Whoever knows that `subscribe` has returned sees the subscriber here: writing happens before returning.
///
/// Atomics need newer Apple systems than this package supports; there it is an uncontended unfair lock.
@usableFromInline
final class TopicAudience: Sendable {
    #if canImport(Darwin)
        private let count = Locked(0)

        @usableFromInline var isEmpty: Bool { count.withLock { $0 == 0 } }

        func set(_ subscriberCount: Int) { count.withLock { $0 = subscriberCount } }
    #else
        @usableFromInline let count = Atomic<Int>(0)

        @inlinable var isEmpty: Bool { count.load(ordering: .acquiring) == 0 }

        func set(_ subscriberCount: Int) { count.store(subscriberCount, ordering: .releasing) }
    #endif

    init() {}
}
