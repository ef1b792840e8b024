// Terms of topics:
// - A kept element must not be lost. Its position is its number among the kept elements, from 0.
// - A subscriber has processed a kept element once it has asked for the next one.
// - The available space is that of the fullest buffer. Publishers of kept elements check it before they publish.
// - An abandoned subscriber is full, and publishers don't wait for it until it takes an element.
// Docs/Internals/Glossary.md has the other terms.

/// A multicast of typed elements to independent subscribers with bounded buffers.
///
/// Publishing never waits. If a subscriber's buffer is full, the topic drops elements by its policy, counts them, and
/// reports the count to `onDrop`.
///
/// Waking a subscriber is the main cost. `publish(contentsOf:)` wakes each subscriber once for all elements, and
/// `subscribeBatches()` returns all waiting elements together.
///
/// Safe to use from any thread. `publish` is O(subscribers). Without subscribers it only checks a counter.
public final class Topic<Element: Sendable>: Sendable {
    /// Selects the element that is dropped when a buffer is full.
    public enum OverflowPolicy: Sendable {
        /// Drops the oldest waiting element. Use it if the newest values matter.
        case dropOldest
        /// Drops the new element. Use it if the waiting elements must have no gap.
        case dropNewest
    }

    private struct State {
        var subscriptions: [TopicSubscription<Element>] = []
        var latest: Element?
        /// Kept elements that no present subscriber wants.
        var kept: BatchBuffer<Element>
        /// Number of kept elements so far.
        var keptCount: UInt64 = 0
        var droppedCount: UInt64 = 0
        var isFinished = false
        var halfFreeHandler: (@Sendable () -> Void)?

        func isWanted(_ element: Element) -> Bool { subscriptions.contains { $0.wants(element) } }

        var processedKeptCount: UInt64 {
            subscriptions.reduce(min(kept.oldestPosition ?? keptCount, keptCount)) { done, subscription in
                min(done, subscription.oldestPosition ?? done)
            }
        }
    }

    /// Maximum number of elements that wait for a slow subscriber before the policy applies.
    public let bufferLimit: Int
    /// The policy for elements that don't fit into a subscriber's buffer.
    public let overflow: OverflowPolicy
    /// True if a new subscriber receives the latest element at once.
    public let replaysLatest: Bool
    /// Maximum number of kept elements that wait for a subscriber that wants them.
    package let keptLimit: Int
    /// Number of waiting bytes at which a buffer counts as full, even with few elements. The last element may exceed
    /// it. The limit also applies to kept elements that wait for a subscriber.
    package let bytesMax: Int

    private let weigh: (@Sendable (Element) -> Int)?
    private let onDrop: (@Sendable (UInt64) -> Void)?
    /// The lock is held while elements enter the buffers, so all subscribers see one order. They are woken after its
    /// release.
    private let state: Locked<State>
    /// Number of subscribers, which `publish` reads without the lock.
    @usableFromInline let audience = TopicAudience()

    /// Creates a topic without subscribers.
    ///
    /// - Parameter onDrop: Receives the number of elements dropped so far, over all subscribers, after each call that
    ///   dropped some. Called on the publisher's thread.
    public convenience init(
        bufferLimit: Int = 256, overflow: OverflowPolicy = .dropOldest, replaysLatest: Bool = false,
        onDrop: (@Sendable (UInt64) -> Void)? = nil
    ) {
        self.init(
            bufferLimit: bufferLimit, overflow: overflow, replaysLatest: replaysLatest, keptLimit: 0, onDrop: onDrop)
    }

    /// - Parameter weigh: Returns an element's size in bytes; nil if sizes don't matter.
    package init(
        bufferLimit: Int, overflow: OverflowPolicy, replaysLatest: Bool, keptLimit: Int, bytesMax: Int = .max,
        weigh: (@Sendable (Element) -> Int)? = nil, onDrop: (@Sendable (UInt64) -> Void)?
    ) {
        precondition(bufferLimit > 0, "bufferLimit must be at least 1")
        self.bufferLimit = bufferLimit
        self.overflow = overflow
        self.replaysLatest = replaysLatest
        self.keptLimit = keptLimit
        self.bytesMax = bytesMax
        self.weigh = weigh
        self.onDrop = onDrop
        state = Locked(State(kept: BatchBuffer(weigh: weigh)))
    }

    deinit { finish() }

    /// Number of bytes in the fullest buffer, for diagnostics.
    package var waitingBytes: Int {
        state.withLock { state in state.subscriptions.reduce(state.kept.bytes) { max($0, $1.waitingBytes) } }
    }

    /// Passes `element` to every subscriber, in the order of the calls. Does nothing once finished.
    @inlinable
    public func publish(_ element: Element) {
        if !replaysLatest, audience.isEmpty { return }
        deliver(element)
    }

    /// Passes the elements to every subscriber, in order and with nothing in between. Does nothing once finished.
    /// Wakes each subscriber once. Arrays of 32 to 256 elements are shared with it, not copied.
    @inlinable
    public func publish(contentsOf elements: [Element]) {
        if !replaysLatest, audience.isEmpty { return }
        deliver(contentsOf: elements)
    }

    @usableFromInline
    func deliver(_ element: Element) { enqueue(element).complete() }

    @usableFromInline
    func deliver(contentsOf elements: [Element]) { enqueue(contentsOf: elements, isKept: false).complete() }

    /// Returns a new stream of elements. It ends when the topic finishes; leaving the loop unsubscribes.
    ///
    /// The stream includes all elements published after this call returns, even before the first `next`.
    public func subscribe() -> AsyncStream<Element> { subscribe(startingWith: []) }

    /// Returns a stream that starts with elements that the caller has stored for late subscribers.
    package func subscribe(startingWith kept: [Element]) -> AsyncStream<Element> {
        let reader = makeReader(startingWith: kept)
        return AsyncStream(unfolding: { await reader.next(isolation: nil) }, onCancel: { reader.cancel() })
    }

    /// Returns a stream for a subscriber on the main actor, which is woken there without switching to another thread
    /// first.
    package func subscribeOnMainActor(startingWith kept: [Element] = []) -> AsyncStream<Element> {
        let reader = makeReader(startingWith: kept)
        return AsyncStream(
            unfolding: { @MainActor in await reader.next(isolation: MainActor.shared) }, onCancel: { reader.cancel() })
    }

    /// Returns a new stream of batches. Each has the waiting elements, 1 to 256.
    public func subscribeBatches() -> AsyncStream<[Element]> {
        let reader = makeReader(startingWith: [])
        return AsyncStream(unfolding: { await reader.nextBatch(isolation: nil) }, onCancel: { reader.cancel() })
    }

    /// Subscribes in batches. The subscriber is woken on its own actor; see `TopicBatches`.
    /// - Parameter isWanted: Selects the elements that the subscriber gets. The others take space in its buffer too.
    package func batches(where isWanted: (@Sendable (Element) -> Bool)?) -> TopicBatches<Element> {
        TopicBatches(makeReader(startingWith: [], where: isWanted))
    }

    /// Ends every subscriber's stream after its buffered elements. Idempotent.
    public func finish() {
        let ended = state.withLock { state in
            state.isFinished = true
            // Unread elements must not count as processed just because no subscriber is left.
            state.keptCount = state.processedKeptCount
            state.latest = nil
            state.kept = BatchBuffer(weigh: weigh)
            state.halfFreeHandler = nil
            audience.set(0)
            defer { state.subscriptions = [] }
            return state.subscriptions
        }
        for subscription in ended { subscription.finish() }
    }

    /// Number of current subscribers. Call it from any thread; takes the topic's lock.
    public var subscriberCount: Int { state.withLock { $0.subscriptions.count } }

    /// The number of elements dropped because a buffer was full, over all subscribers so far.
    public var droppedCount: UInt64 { state.withLock { $0.droppedCount } }
}

// MARK: - Handing over

/// The work left after a publication's elements are in the buffers. It wakes tasks, so it must run without a lock.
package struct TopicHandover {
    fileprivate var waiters: [CheckedContinuation<Void, Never>] = []
    fileprivate var reports: [(onDrop: @Sendable (UInt64) -> Void, droppedCount: UInt64)] = []

    package init() {}

    /// Wakes the waiting subscribers and reports dropped elements.
    package func complete() {
        for waiter in waiters { waiter.resume() }
        for report in reports { report.onDrop(report.droppedCount) }
    }

    package mutating func merge(_ later: TopicHandover) {
        waiters += later.waiters
        reports += later.reports
    }
}

extension Topic {
    /// Puts an element into the subscribers' buffers. The caller completes the handover after releasing its locks.
    package func enqueue(_ element: Element) -> TopicHandover {
        handOver(latest: element) { state, result in
            for subscription in state.subscriptions {
                result.merge(subscription.append(element))
            }
        }
    }

    /// Puts elements into the subscribers' buffers. The caller completes the handover after releasing its locks.
    /// - Parameter isKept: True if the elements must not be lost. A kept element waits for the next subscriber if no
    ///   present one wants it, or if the last one that did has left without reading it. At most `keptLimit` elements
    ///   wait. With subscribers, the topic drops the oldest to make room, and each one once `keptLimit` later elements
    ///   have been kept. Without subscribers, it drops new elements that don't fit.
    package func enqueue(contentsOf elements: [Element], isKept: Bool) -> TopicHandover {
        handOver(latest: elements.last) { state, result in
            let position = isKept ? state.keptCount : nil
            for subscription in state.subscriptions {
                result.merge(subscription.append(contentsOf: elements, at: position))
            }
            guard let position else { return }
            state.keptCount += UInt64(elements.count)
            guard !state.subscriptions.isEmpty else {
                let excess = min(max(0, state.kept.count + elements.count - keptLimit), elements.count)
                state.kept.append(contentsOf: excess == 0 ? elements : Array(elements.dropLast(excess)), at: position)
                result.droppedCount += excess
                return
            }
            guard !state.subscriptions.contains(where: { $0.wantsAll }) else { return }
            for (offset, element) in elements.enumerated() where !state.isWanted(element) {
                state.kept.append(element, at: position + UInt64(offset))
            }
            result.droppedCount += dropOldestKept(&state)
        }
    }

    /// Adds kept elements that waited when an earlier process ended, before anyone subscribes. All are kept, even beyond
    /// `keptLimit`.
    package func restore(_ elements: [Element]) {
        state.withLock { state in
            state.kept.append(contentsOf: elements, at: state.keptCount)
            state.keptCount += UInt64(elements.count)
        }
    }

    /// Drops the oldest unwanted elements, so that they can't hold back `processedKeptCount` forever.
    /// - Returns: The number of dropped elements.
    private func dropOldestKept(_ state: inout State) -> Int {
        let before = state.kept.count
        while let oldest = state.kept.firstPosition,
            state.kept.count > keptLimit || state.kept.bytes > bytesMax || state.keptCount - oldest > UInt64(keptLimit)
        { state.kept.removeFirst(1) }
        return before - state.kept.count
    }

    private func handOver(
        latest: Element?, _ append: (inout State, inout TopicSubscription<Element>.AppendResult) -> Void
    ) -> TopicHandover {
        state.withLock { state in
            guard !state.isFinished, let latest else { return TopicHandover() }
            if replaysLatest { state.latest = latest }
            var result = TopicSubscription<Element>.AppendResult()
            append(&state, &result)
            var handover = TopicHandover()
            handover.waiters = result.waiters
            if result.droppedCount > 0 {
                state.droppedCount += UInt64(result.droppedCount)
                if let onDrop { handover.reports = [(onDrop, state.droppedCount)] }
            }
            return handover
        }
    }
}

// MARK: - Space for kept elements

/// The free space of a buffer, in elements and in bytes.
package struct BufferSpace: Hashable, Sendable {
    package let count: Int
    package let bytes: Int

    /// Creates the free space. If either number is 0 or less, the buffer is full, and both become 0.
    init(_ count: Int, bytes: Int) { (self.count, self.bytes) = count > 0 && bytes > 0 ? (count, bytes) : (0, 0) }

    func smaller(_ other: BufferSpace) -> BufferSpace {
        BufferSpace(min(count, other.count), bytes: min(bytes, other.bytes))
    }
}

extension Topic {
    /// The number of elements and bytes that can be published now without a drop. With subscribers, it is the space of
    /// the fullest one that isn't abandoned, and zero if all are. Without subscribers, it is the space for kept
    /// elements.
    package var availableSpace: BufferSpace {
        state.withLock { state in
            guard !state.subscriptions.isEmpty else {
                return BufferSpace(keptLimit - state.kept.count, bytes: bytesMax - state.kept.bytes)
            }
            // A closure, because a key path into a generic class would be created on every call.
            return state.subscriptions.reduce(nil as BufferSpace?) { least, subscription in
                guard let space = subscription.availableSpace else { return least }
                return least?.smaller(space) ?? space
            } ?? BufferSpace(0, bytes: 0)
        }
    }

    /// Number of elements that can be published now without a drop.
    package var availableCount: Int { availableSpace.count }

    /// Number of kept elements that every subscriber has processed. A subscriber has processed an element once it
    /// asks for the next one.
    package var processedKeptCount: UInt64 {
        state.withLock { $0.processedKeptCount }
    }

    /// Calls `body` once no subscriber's buffer is more than half full: now, or on the thread of the subscriber that
    /// frees space. A full subscriber that unsubscribes doesn't trigger it. A later `body` replaces an earlier one.
    package func onHalfFree(_ body: @escaping @Sendable () -> Void) {
        let isFree = state.withLock { state in
            if isHalfFree(state) { return true }
            state.halfFreeHandler = body
            return false
        }
        if isFree { body() }
    }

    /// Excludes full subscribers from `availableSpace` until they take an element. Does nothing if no subscriber has
    /// space.
    package func abandonFullSubscribers() {
        state.withLock { state in
            guard state.subscriptions.contains(where: { $0.availableSpace?.count ?? 0 > 0 }) else { return }
            for subscription in state.subscriptions where subscription.availableSpace?.count == 0 {
                subscription.abandon()
            }
        }
    }

    private func isHalfFree(_ state: borrowing State) -> Bool {
        guard !state.subscriptions.isEmpty else {
            let (count, bytes) = (state.kept.count, state.kept.bytes)
            return count <= keptLimit / 2 && bytes <= bytesMax / 2
        }
        // No short circuit: every subscriber that is too full must get the request.
        return state.subscriptions.reduce(true) { isFree, subscription in
            !subscription.requestHalfFreeNotice() && isFree
        }
    }

    private func handleFreedSpace() {
        let handler = state.withLock { state in
            guard state.halfFreeHandler != nil, isHalfFree(state) else { return nil as (@Sendable () -> Void)? }
            defer { state.halfFreeHandler = nil }
            return state.halfFreeHandler
        }
        handler?()
    }
}

// MARK: - Subscribing

extension Topic {
    private func makeReader(
        startingWith elements: [Element], where isWanted: (@Sendable (Element) -> Bool)? = nil
    ) -> TopicReader<Element> {
        state.withLock { state in
            var buffer = BatchBuffer<Element>(weigh: weigh)
            if !state.isFinished {
                if let isWanted { buffer = state.kept.take(where: isWanted) } else { swap(&buffer, &state.kept) }
                buffer.append(contentsOf: elements)
                if let latest = state.latest { buffer.append(latest) }
            }
            let subscription = TopicSubscription(
                limit: bufferLimit, bytesMax: bytesMax, dropsOldest: overflow == .dropOldest, buffer: buffer,
                isWanted: isWanted
            ) { [weak self] in self?.handleFreedSpace() }
            if state.isFinished {
                subscription.finish()
            } else {
                state.subscriptions.append(subscription)
                audience.set(state.subscriptions.count)
            }
            return TopicReader(subscription) { [weak self] in self?.unsubscribe(subscription) }
        }
    }

    private func unsubscribe(_ subscription: TopicSubscription<Element>) {
        state.withLock { state in
            guard let index = state.subscriptions.firstIndex(where: { $0 === subscription }) else { return }
            state.subscriptions.remove(at: index)
            audience.set(state.subscriptions.count)
            var left = subscription.takeKept()
            state.kept.merge(left.take { subscription.wants($0) && !state.isWanted($0) })
            if !state.subscriptions.isEmpty { state.droppedCount += UInt64(dropOldestKept(&state)) }
        }
    }
}

/// Batches of elements for one subscriber, which is woken on its own actor. An `AsyncStream` would wake a thread of the
/// pool first.
package struct TopicBatches<Element: Sendable>: Sendable {
    private let reader: TopicReader<Element>

    fileprivate init(_ reader: TopicReader<Element>) { self.reader = reader }

    /// Waits for elements and returns the waiting ones, 1 to 256. Returns nil after the last ones, once the topic has
    /// finished or the waiting task was cancelled.
    package func next(isolation: isolated (any Actor)? = #isolation) async -> [Element]? {
        await withTaskCancellationHandler {
            await reader.nextBatch(isolation: isolation)
        } onCancel: {
            reader.cancel()
        }
    }
}

/// The object that a subscriber's stream owns. Unsubscribes when it is deallocated.
private final class TopicReader<Element: Sendable>: Sendable {
    private let subscription: TopicSubscription<Element>
    private let unsubscribe: @Sendable () -> Void

    init(_ subscription: TopicSubscription<Element>, unsubscribe: @escaping @Sendable () -> Void) {
        self.subscription = subscription
        self.unsubscribe = unsubscribe
    }

    deinit { unsubscribe() }

    func next(isolation: isolated (any Actor)?) async -> Element? { await subscription.next(isolation: isolation) }
    func nextBatch(isolation: isolated (any Actor)?) async -> [Element]? {
        await subscription.nextBatch(isolation: isolation)
    }

    func cancel() {
        unsubscribe()
        subscription.finish()
    }
}
