/// A subscription to a topic: a bounded buffer, and the tasks that wait for its next element.
///
/// To avoid a deadlock, this class resumes no waiter while it holds a lock. Resuming a task takes the task's lock, and a
/// task that is cancelled calls this class under that lock. So `append` returns the waiters, and the publisher resumes
/// them after it has released its own locks.
final class TopicSubscription<Element: Sendable>: Sendable {
    typealias Waiter = CheckedContinuation<Void, Never>

    private struct State: Sendable {
        var buffer: BatchBuffer<Element>
        var waiters: [Waiter] = []
        /// True if no more elements will come.
        var hasEnded = false
        /// True if publishers don't wait for this subscriber. False again once it takes an element.
        var isAbandoned = false
        /// Position of the first of the kept elements that the subscriber took last. They count as processed once it
        /// asks for more.
        var unconfirmedPosition: UInt64?
        /// True if `onHalfFree` must be called when half of the buffer is free.
        var notifiesWhenHalfFree = false

        mutating func takeWaiters() -> [Waiter] {
            guard !waiters.isEmpty else { return [] }
            defer { waiters = [] }
            return waiters
        }
    }

    /// The number of dropped elements, and the waiters to resume.
    struct AppendResult {
        var droppedCount = 0
        var waiters: [Waiter] = []

        mutating func merge(_ other: AppendResult) {
            droppedCount += other.droppedCount
            waiters += other.waiters
        }
    }

    private let limit: Int
    /// Number of bytes at which the buffer is full, even with few elements.
    private let bytesMax: Int
    private let dropsOldest: Bool
    /// Returns true for elements that the subscriber wants; nil if it wants all.
    private let isWanted: (@Sendable (Element) -> Bool)?
    private let onHalfFree: @Sendable () -> Void
    private let state: Locked<State>

    /// - Parameter onHalfFree: Called once half of the buffer is free, if `requestHalfFreeNotice` has returned true.
    init(
        limit: Int, bytesMax: Int, dropsOldest: Bool, buffer: BatchBuffer<Element>,
        isWanted: (@Sendable (Element) -> Bool)?, onHalfFree: @escaping @Sendable () -> Void
    ) {
        self.limit = limit
        self.bytesMax = bytesMax
        self.dropsOldest = dropsOldest
        self.isWanted = isWanted
        self.onHalfFree = onHalfFree
        state = Locked(State(buffer: buffer))
    }
}

// MARK: - For the topic

extension TopicSubscription {
    var wantsAll: Bool { isWanted == nil }

    func wants(_ element: Element) -> Bool { isWanted?(element) ?? true }

    func append(_ element: Element) -> AppendResult {
        state.withLock { state in
            let isFull = state.buffer.count >= limit || state.buffer.bytes >= bytesMax
            if isFull, !dropsOldest { return AppendResult(droppedCount: 1) }
            state.buffer.append(element)
            return AppendResult(droppedCount: dropsOldest ? dropOldest(&state) : 0, waiters: state.takeWaiters())
        }
    }

    /// - Parameter position: Position of the first element if they are kept; otherwise nil.
    func append(contentsOf elements: [Element], at position: UInt64?) -> AppendResult {
        state.withLock { state in
            guard !dropsOldest else {
                state.buffer.append(contentsOf: elements, at: position)
                return AppendResult(droppedCount: dropOldest(&state), waiters: state.takeWaiters())
            }
            // Publishers of kept elements have already checked the available space.
            let isHeavy = position == nil && state.buffer.bytes >= bytesMax
            let available = isHeavy ? 0 : max(0, limit - state.buffer.count)
            let excess = max(0, elements.count - available)
            state.buffer.append(contentsOf: excess == 0 ? elements : Array(elements.prefix(available)), at: position)
            return AppendResult(droppedCount: excess, waiters: state.takeWaiters())
        }
    }

    /// - Returns: The number of dropped elements. The newest stays, even if it alone is too large.
    private func dropOldest(_ state: inout State) -> Int {
        var count = max(0, state.buffer.count - limit)
        state.buffer.removeFirst(count)
        while state.buffer.bytes > bytesMax, state.buffer.count > 1 {
            state.buffer.removeFirst(1)
            count += 1
        }
        return count
    }

    var waitingBytes: Int { state.withLock { $0.buffer.bytes } }

    /// The free space; nil if the subscriber is abandoned.
    var availableSpace: BufferSpace? {
        state.withLock { state in
            state.isAbandoned ? nil : BufferSpace(limit - state.buffer.count, bytes: bytesMax - state.buffer.bytes)
        }
    }

    /// Position of the oldest kept element that the subscriber hasn't processed; nil if there is none, or if the
    /// subscriber is abandoned.
    var oldestPosition: UInt64? {
        state.withLock { $0.isAbandoned ? nil : $0.unconfirmedPosition ?? $0.buffer.oldestPosition }
    }

    /// Requests a call of `onHalfFree` when half of the buffer is free.
    /// - Returns: false if half is free already, or if the subscriber is abandoned.
    func requestHalfFreeNotice() -> Bool {
        state.withLock { state in
            state.notifiesWhenHalfFree = !state.isAbandoned && !isHalfFree(state)
            return state.notifiesWhenHalfFree
        }
    }

    private func isHalfFree(_ state: State) -> Bool {
        state.buffer.count <= limit / 2 && state.buffer.bytes <= bytesMax / 2
    }

    /// Lets publishers ignore this subscriber until it takes an element again.
    func abandon() {
        state.withLock { $0.isAbandoned = true }
    }

    /// Ends the stream after its buffered elements.
    func finish() {
        let waiters = state.withLock { state in
            state.hasEnded = true
            return state.takeWaiters()
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Returns the kept elements that weren't taken, and discards the others.
    func takeKept() -> BatchBuffer<Element> { state.withLock { $0.buffer.takeKept() } }
}

// MARK: - For the subscriber

extension TopicSubscription {
    private enum Step<Taken> {
        case taken(Taken, isHalfFree: Bool)
        case ended
        case empty
    }

    /// Waits for the oldest wanted element and returns it; nil after the last one.
    func next(isolation: isolated (any Actor)?) async -> Element? {
        await next({ $0.popFirst() }, select: { wants($0) ? $0 : nil }, isolation: isolation)
    }

    /// Waits for wanted elements and returns the oldest ones; nil after the last ones.
    func nextBatch(isolation: isolated (any Actor)?) async -> [Element]? {
        await next({ $0.popBatch() }, select: wantedElements, isolation: isolation)
    }

    private func wantedElements(of elements: [Element]) -> [Element]? {
        guard let isWanted else { return elements }
        let wanted = elements.filter(isWanted)
        return wanted.isEmpty ? nil : wanted
    }

    private func next<Taken>(
        _ pop: (inout BatchBuffer<Element>) -> Taken?, select: (Taken) -> Taken?, isolation: isolated (any Actor)?
    ) async -> Taken? {
        while true {
            switch step(pop) {
            case .taken(let taken, let isHalfFree):
                if isHalfFree { onHalfFree() }
                if let selected = select(taken) { return selected }
            case .ended: return nil
            case .empty: await waitForElement(isolation: isolation)
            }
        }
    }

    private func step<Taken>(_ pop: (inout BatchBuffer<Element>) -> Taken?) -> Step<Taken> {
        state.withLock { state in
            state.unconfirmedPosition = state.buffer.firstPosition
            guard let taken = pop(&state.buffer) else { return state.hasEnded ? .ended : .empty }
            state.isAbandoned = false
            let notifies = state.notifiesWhenHalfFree && isHalfFree(state)
            if notifies { state.notifiesWhenHalfFree = false }
            return .taken(taken, isHalfFree: notifies)
        }
    }

    private func waitForElement(isolation: isolated (any Actor)?) async {
        await withCheckedContinuation(isolation: isolation) { waiter in
            let isReady = state.withLock { state in
                guard state.buffer.isEmpty, !state.hasEnded else { return true }
                state.waiters.append(waiter)
                return false
            }
            if isReady { waiter.resume() }
        }
    }
}
