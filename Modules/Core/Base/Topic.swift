/// A multicast of typed elements: every subscriber is independent and bounded.
///
/// A topic serves the bus, and every stream that a transport or a session hands out. Publishing never waits: when a
/// subscriber's buffer is full, the topic drops by its stated policy, counts what it dropped, and says so to `onDrop`.
///
/// What many elements cost is waking the subscriber: `publish(contentsOf:)` wakes it once for all, and who reads
/// `subscribeBatches()` takes all that have gathered in one turn.
///
/// Safe to use from any thread. `publish` is O(subscribers); without any it is one look at a counter.
public final class Topic<Element: Sendable>: Sendable {
    /// The reaction of a subscriber's full buffer to one more element.
    public enum OverflowPolicy: Sendable {
        /// The oldest waiting element makes room: right for values of which the newest matters.
        case dropOldest
        /// The new element is dropped: right where what waits must stay in order without a hole before its end.
        case dropNewest
    }

    private struct State {
        var subscriptions: [TopicSubscription<Element>] = []
        var latest: Element?
        /// What must not be lost and no subscriber wants.
        var kept: BatchBuffer<Element>
        /// Elements so far that must not be lost.
        var keptTotal: UInt64 = 0
        var droppedCount: UInt64 = 0
        var isFinished = false
        var roomNotice: (@Sendable () -> Void)?

        func isWanted(_ element: Element) -> Bool { subscriptions.contains { $0.wants(element) } }

        var keptDoneCount: UInt64 {
            subscriptions.reduce(min(kept.oldestPosition ?? keptTotal, keptTotal)) { done, subscription in
                min(done, subscription.oldestPosition ?? done)
            }
        }
    }

    /// Maximum number of elements that wait for a slow subscriber before the policy applies.
    public let bufferLimit: Int
    /// The policy for elements that don't fit into a subscriber's buffer.
    public let overflow: OverflowPolicy
    /// Whether a new subscriber receives the latest element at once.
    public let replaysLatest: Bool
    /// How many elements that must not be lost wait for a subscriber that wants them.
    package let keptLimit: Int
    /// Bytes that wait for a slow subscriber, or for the first, before a buffer is full with fewer elements. The last to
    /// find room may exceed them.
    package let bytesMax: Int

    private let weigh: (@Sendable (Element) -> Int)?
    private let onDrop: (@Sendable (UInt64) -> Void)?
    /// Held while elements are put into the subscribers' buffers, so that all see one order; nobody is woken meanwhile.
    private let state: Locked<State>
    /// How many subscribers there are, for `publish` to read without the lock.
    @usableFromInline let audience = TopicAudience()

    /// Creates a topic without subscribers.
    ///
    /// - Parameter onDrop: is told how many elements were dropped so far, over all subscribers, after each call that
    ///   dropped some; on the publisher's thread.
    public convenience init(
        bufferLimit: Int = 256, overflow: OverflowPolicy = .dropOldest, replaysLatest: Bool = false,
        onDrop: (@Sendable (UInt64) -> Void)? = nil
    ) {
        self.init(
            bufferLimit: bufferLimit, overflow: overflow, replaysLatest: replaysLatest, keptLimit: 0, onDrop: onDrop)
    }

    /// - Parameter weigh: tells the bytes of an element; nil where they do not matter.
    package init(
        bufferLimit: Int, overflow: OverflowPolicy, replaysLatest: Bool, keptLimit: Int, bytesMax: Int = .max,
        weigh: (@Sendable (Element) -> Int)? = nil, onDrop: (@Sendable (UInt64) -> Void)?
    ) {
        precondition(bufferLimit > 0, "a topic needs room for one element")
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

    /// What the fullest buffer weighs; for whoever examines it.
    package var waitingBytes: Int {
        state.withLock { state in state.subscriptions.reduce(state.kept.bytes) { max($0, $1.waitingBytes) } }
    }

    /// Hands `element` to every subscriber, in the order in which calls enter. Does nothing once finished.
    @inlinable
    public func publish(_ element: Element) {
        if !replaysLatest, audience.isEmpty { return }
        deliver(element)
    }

    /// Hands the elements to every subscriber, one after the other and with nothing in between. Does nothing once
    /// finished. A subscriber is woken once; arrays of 32 to 256 elements are shared with it and not copied.
    @inlinable
    public func publish(contentsOf elements: [Element]) {
        if !replaysLatest, audience.isEmpty { return }
        deliver(contentsOf: elements)
    }

    @usableFromInline
    func deliver(_ element: Element) { enqueue(element).complete() }

    @usableFromInline
    func deliver(contentsOf elements: [Element]) { enqueue(contentsOf: elements, isKept: false).complete() }

    /// A stream of its own for each call. It ends when the topic finishes; leaving the loop unsubscribes.
    ///
    /// Elements published after this call returns are in the stream, however late the first `next` comes.
    public func subscribe() -> AsyncStream<Element> { subscribe(startingWith: []) }

    /// A stream that begins with elements which the caller has kept for late subscribers.
    package func subscribe(startingWith kept: [Element]) -> AsyncStream<Element> {
        let reader = makeReader(startingWith: kept)
        return AsyncStream(unfolding: { await reader.next(isolation: nil) }, onCancel: { reader.cancel() })
    }

    /// The same for a subscriber on the main actor: no other thread is woken on the way there.
    package func subscribeOnMainActor(startingWith kept: [Element] = []) -> AsyncStream<Element> {
        let reader = makeReader(startingWith: kept)
        return AsyncStream(
            unfolding: { @MainActor in await reader.next(isolation: MainActor.shared) }, onCancel: { reader.cancel() })
    }

    /// Subscribes to the topic in batches: each holds all elements that have gathered, 1 to 256.
    public func subscribeBatches() -> AsyncStream<[Element]> {
        let reader = makeReader(startingWith: [])
        return AsyncStream(unfolding: { await reader.nextBatch(isolation: nil) }, onCancel: { reader.cancel() })
    }

    /// The same, for one subscriber that is woken where it waits; see `TopicBatches`.
    /// - Parameter isWanted: others have their place in the subscriber's buffer, and pass it by.
    package func batches(where isWanted: (@Sendable (Element) -> Bool)?) -> TopicBatches<Element> {
        TopicBatches(makeReader(startingWith: [], where: isWanted))
    }

    /// Ends every subscriber's stream after what it still holds. Idempotent.
    public func finish() {
        let ended = state.withLock { state in
            state.isFinished = true
            // What was not looked at by now does not count as done because nobody is left.
            state.keptTotal = state.keptDoneCount
            state.latest = nil
            state.kept = BatchBuffer(weigh: weigh)
            state.roomNotice = nil
            audience.set(0)
            defer { state.subscriptions = [] }
            return state.subscriptions
        }
        for subscription in ended { subscription.finish() }
    }

    /// Subscriptions that have begun and not ended. From any thread; takes the topic's lock.
    public var subscriberCount: Int { state.withLock { $0.subscriptions.count } }

    /// The number of elements dropped because a buffer was full, over all subscribers so far.
    public var droppedCount: UInt64 { state.withLock { $0.droppedCount } }
}

// MARK: - Handing over

/// What is left to do once elements are in their subscribers' buffers: nobody may be woken while a lock is held.
package struct TopicHandover {
    fileprivate var waiters: [CheckedContinuation<Void, Never>] = []
    fileprivate var reports: [(onDrop: @Sendable (UInt64) -> Void, droppedCount: UInt64)] = []

    package init() {}

    /// Wakes the subscribers that wait, and reports what was dropped.
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
    /// Puts an element into the subscribers' buffers. Who holds a lock completes the hand-over after letting go of it.
    package func enqueue(_ element: Element) -> TopicHandover {
        handOver(latest: element) { state, receipt in
            for subscription in state.subscriptions {
                receipt.merge(subscription.append(element))
            }
        }
    }

    /// The same for several.
    /// - Parameter isKept: what no subscriber wants waits for the first one that does, and so does what subscribers leave
    ///   behind that wanted it alone: up to `keptLimit`, of which the oldest make room while there are subscribers, and go
    ///   when `keptLimit` more have come.
    package func enqueue(contentsOf elements: [Element], isKept: Bool) -> TopicHandover {
        handOver(latest: elements.last) { state, receipt in
            let position = isKept ? state.keptTotal : nil
            for subscription in state.subscriptions {
                receipt.merge(subscription.append(contentsOf: elements, at: position))
            }
            guard let position else { return }
            state.keptTotal += UInt64(elements.count)
            guard !state.subscriptions.isEmpty else {
                let excess = min(max(0, state.kept.count + elements.count - keptLimit), elements.count)
                state.kept.append(contentsOf: excess == 0 ? elements : Array(elements.dropLast(excess)), at: position)
                receipt.droppedCount += excess
                return
            }
            guard !state.subscriptions.contains(where: { $0.wantsAll }) else { return }
            for (offset, element) in elements.enumerated() where !state.isWanted(element) {
                state.kept.append(element, at: position + UInt64(offset))
            }
            receipt.droppedCount += trimKept(&state)
        }
    }

    /// What nobody wants must not hold up for ever what others are done with.
    /// - Returns: how many had to go.
    private func trimKept(_ state: inout State) -> Int {
        let before = state.kept.count
        while let oldest = state.kept.firstPosition,
            state.kept.count > keptLimit || state.kept.bytes > bytesMax || state.keptTotal - oldest > UInt64(keptLimit)
        { state.kept.removeFirst(1) }
        return before - state.kept.count
    }

    private func handOver(
        latest: Element?, _ append: (inout State, inout TopicSubscription<Element>.Receipt) -> Void
    ) -> TopicHandover {
        state.withLock { state in
            guard !state.isFinished, let latest else { return TopicHandover() }
            if replaysLatest { state.latest = latest }
            var receipt = TopicSubscription<Element>.Receipt()
            append(&state, &receipt)
            var handover = TopicHandover()
            handover.waiters = receipt.waiters
            if receipt.droppedCount > 0 {
                state.droppedCount += UInt64(receipt.droppedCount)
                if let onDrop { handover.reports = [(onDrop, state.droppedCount)] }
            }
            return handover
        }
    }
}

// MARK: - Room for what must not be lost

/// What fits a buffer: so many elements, of so many bytes together.
package struct TopicRoom: Hashable, Sendable {
    package let count: Int
    package let bytes: Int

    /// What is full in one way has no room at all.
    init(_ count: Int, bytes: Int) { (self.count, self.bytes) = count > 0 && bytes > 0 ? (count, bytes) : (0, 0) }

    func smaller(_ other: TopicRoom) -> TopicRoom {
        TopicRoom(min(count, other.count), bytes: min(bytes, other.bytes))
    }
}

extension Topic {
    /// What can be published now without dropping any: the room of the fullest subscriber that has not been abandoned, or
    /// what can still be kept while there is none.
    package var space: TopicRoom {
        state.withLock { state in
            guard !state.subscriptions.isEmpty else {
                return TopicRoom(keptLimit - state.kept.count, bytes: bytesMax - state.kept.bytes)
            }
            // A key path into a generic class would be made anew on every call.
            return state.subscriptions.reduce(nil as TopicRoom?) { least, subscription in
                guard let room = subscription.room else { return least }
                return least?.smaller(room) ?? room
            } ?? TopicRoom(0, bytes: 0)
        }
    }

    /// How many elements that is.
    package var room: Int { space.count }

    /// Of all elements that must not be lost, how many every subscriber is done with: it has asked for what comes after.
    package var keptDoneCount: UInt64 {
        state.withLock { $0.keptDoneCount }
    }

    /// Calls `body` once, when no subscriber's buffer is more than half full: at once if that is so, else on the thread
    /// of the subscriber that has taken enough. Not when a full subscriber goes. A later call replaces an earlier one.
    package func whenRoom(_ body: @escaping @Sendable () -> Void) {
        let isThere = state.withLock { state in
            if isHalfFree(state) { return true }
            state.roomNotice = body
            return false
        }
        if isThere { body() }
    }

    /// Full subscribers do not count for `room` any more, until they take something; while one has room.
    package func abandonFullSubscribers() {
        state.withLock { state in
            guard state.subscriptions.contains(where: { $0.room?.count ?? 0 > 0 }) else { return }
            for subscription in state.subscriptions where subscription.room?.count == 0 { subscription.abandon() }
        }
    }

    private func isHalfFree(_ state: borrowing State) -> Bool {
        guard !state.subscriptions.isEmpty else {
            let (count, bytes) = (state.kept.count, state.kept.bytes)
            return count <= keptLimit / 2 && bytes <= bytesMax / 2
        }
        // Every one that is fuller must be asked.
        return state.subscriptions.reduce(true) { isFree, subscription in !subscription.askForRoom() && isFree }
    }

    private func roomReturned() {
        let notice = state.withLock { state in
            guard state.roomNotice != nil, isHalfFree(state) else { return nil as (@Sendable () -> Void)? }
            defer { state.roomNotice = nil }
            return state.roomNotice
        }
        notice?()
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
            ) { [weak self] in self?.roomReturned() }
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
            if !state.subscriptions.isEmpty { state.droppedCount += UInt64(trimKept(&state)) }
        }
    }
}

/// What a topic hands one subscriber, in turns. A stream that unfolds wakes a thread of the pool, which wakes the subscriber;
/// here the subscriber is woken on its own actor.
package struct TopicBatches<Element: Sendable>: Sendable {
    private let reader: TopicReader<Element>

    fileprivate init(_ reader: TopicReader<Element>) { self.reader = reader }

    /// All that have gathered, at most 256 and never none; nil when there will be none, and once the waiting task was
    /// cancelled.
    package func next(isolation: isolated (any Actor)? = #isolation) async -> [Element]? {
        await withTaskCancellationHandler {
            await reader.nextBatch(isolation: isolation)
        } onCancel: {
            reader.cancel()
        }
    }
}

/// What a subscriber's stream holds: when it goes, the subscriber has gone.
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
