#if !canImport(Darwin)
    public import Synchronization
#endif

/// Number of a topic's subscribers. Written with the topic's lock held, and read by `publish` without it.
///
/// The count is written before `subscribe` returns, so a thread that knows of the return sees the subscriber here.
///
/// Atomics need newer Apple systems than this package supports, so an uncontended unfair lock replaces them there.
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
