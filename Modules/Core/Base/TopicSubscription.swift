/// One subscriber's end of a topic: a bounded buffer, and whoever waits for what comes next.
///
/// Nobody is woken while a lock is held: waking takes the woken task's lock, and cancelling a task comes here while
/// holding it. So whoever hands over receives the waiters, and wakes them when it has let go of its own locks.
final class TopicSubscription<Element: Sendable>: Sendable {
    typealias Waiter = CheckedContinuation<Void, Never>

    private struct State: Sendable {
        var buffer: BatchBuffer<Element>
        var waiters: [Waiter] = []
        /// Nothing more comes.
        var hasEnded = false
        /// Nobody waits for this subscriber any more; until it takes something.
        var isAbandoned = false
        /// The number of the first of what was taken last and must not be lost. It counts as done when the subscriber asks
        /// for more.
        var positionInHand: UInt64?
        /// Somebody wants to know when half of the buffer is free.
        var tellsRoom = false

        mutating func takeWaiters() -> [Waiter] {
            guard !waiters.isEmpty else { return [] }
            defer { waiters = [] }
            return waiters
        }
    }

    /// What became of a hand-over.
    struct Receipt {
        var droppedCount = 0
        var waiters: [Waiter] = []

        mutating func merge(_ other: Receipt) {
            droppedCount += other.droppedCount
            waiters += other.waiters
        }
    }

    private let limit: Int
    /// Bytes with which the buffer is full, however few elements they are.
    private let bytesMax: Int
    private let dropsOldest: Bool
    /// What the subscriber wants of what it is handed; nil for everything.
    private let isWanted: (@Sendable (Element) -> Bool)?
    private let roomReturned: @Sendable () -> Void
    private let state: Locked<State>

    /// - Parameter roomReturned: is called after an `askForRoom` that returned true, when the subscriber has taken enough.
    init(
        limit: Int, bytesMax: Int, dropsOldest: Bool, buffer: BatchBuffer<Element>,
        isWanted: (@Sendable (Element) -> Bool)?, roomReturned: @escaping @Sendable () -> Void
    ) {
        self.limit = limit
        self.bytesMax = bytesMax
        self.dropsOldest = dropsOldest
        self.isWanted = isWanted
        self.roomReturned = roomReturned
        state = Locked(State(buffer: buffer))
    }
}

// MARK: - For the topic

extension TopicSubscription {
    var wantsAll: Bool { isWanted == nil }

    func wants(_ element: Element) -> Bool { isWanted?(element) ?? true }

    func append(_ element: Element) -> Receipt {
        state.withLock { state in
            let isFull = state.buffer.count >= limit || state.buffer.bytes >= bytesMax
            if isFull, !dropsOldest { return Receipt(droppedCount: 1) }
            state.buffer.append(element)
            return Receipt(droppedCount: dropsOldest ? dropOldest(&state) : 0, waiters: state.takeWaiters())
        }
    }

    /// - Parameter position: the number of the first of them, if they must not be lost.
    func append(contentsOf elements: [Element], at position: UInt64?) -> Receipt {
        state.withLock { state in
            guard !dropsOldest else {
                state.buffer.append(contentsOf: elements, at: position)
                return Receipt(droppedCount: dropOldest(&state), waiters: state.takeWaiters())
            }
            // Whoever hands over what must not be lost has asked for room.
            let isHeavy = position == nil && state.buffer.bytes >= bytesMax
            let room = isHeavy ? 0 : max(0, limit - state.buffer.count)
            let excess = max(0, elements.count - room)
            state.buffer.append(contentsOf: excess == 0 ? elements : Array(elements.prefix(room)), at: position)
            return Receipt(droppedCount: excess, waiters: state.takeWaiters())
        }
    }

    /// - Returns: how many had to go. The newest stays, whatever it weighs.
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

    /// What fits; nil for a subscriber that nobody waits for.
    var room: TopicRoom? {
        state.withLock { state in
            state.isAbandoned ? nil : TopicRoom(limit - state.buffer.count, bytes: bytesMax - state.buffer.bytes)
        }
    }

    /// The number of the oldest element that must not be lost and that the subscriber is not done with; nil for one that
    /// nobody waits for.
    var oldestPosition: UInt64? {
        state.withLock { $0.isAbandoned ? nil : $0.positionInHand ?? $0.buffer.oldestPosition }
    }

    /// Makes the subscriber tell when half of its buffer is free.
    /// - Returns: false when it is so already.
    func askForRoom() -> Bool {
        state.withLock { state in
            state.tellsRoom = !state.isAbandoned && !isHalfFree(state)
            return state.tellsRoom
        }
    }

    private func isHalfFree(_ state: State) -> Bool {
        state.buffer.count <= limit / 2 && state.buffer.bytes <= bytesMax / 2
    }

    /// Nobody waits for this subscriber until it takes something again.
    func abandon() {
        state.withLock { $0.isAbandoned = true }
    }

    /// Ends the stream after what it still holds.
    func finish() {
        let waiters = state.withLock { state in
            state.hasEnded = true
            return state.takeWaiters()
        }
        for waiter in waiters { waiter.resume() }
    }

    /// What was not taken and must not be lost; the rest is forgotten.
    func takeKept() -> BatchBuffer<Element> { state.withLock { $0.buffer.takeKept() } }
}

// MARK: - For the subscriber

extension TopicSubscription {
    private enum Step<Taken> {
        case taken(Taken, tellsRoom: Bool)
        case ended
        case waits
    }

    /// The oldest element that is wanted, as soon as there is one; nil when there will be none.
    func next(isolation: isolated (any Actor)?) async -> Element? {
        await next({ $0.popFirst() }, select: { wants($0) ? $0 : nil }, isolation: isolation)
    }

    /// The oldest elements that are wanted, as soon as there are any; nil when there will be none.
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
            case .taken(let taken, let tellsRoom):
                if tellsRoom { roomReturned() }
                if let selected = select(taken) { return selected }
            case .ended: return nil
            case .waits: await somethingNew(isolation: isolation)
            }
        }
    }

    private func step<Taken>(_ pop: (inout BatchBuffer<Element>) -> Taken?) -> Step<Taken> {
        state.withLock { state in
            state.positionInHand = state.buffer.firstPosition
            guard let taken = pop(&state.buffer) else { return state.hasEnded ? .ended : .waits }
            state.isAbandoned = false
            let tellsRoom = state.tellsRoom && isHalfFree(state)
            if tellsRoom { state.tellsRoom = false }
            return .taken(taken, tellsRoom: tellsRoom)
        }
    }

    private func somethingNew(isolation: isolated (any Actor)?) async {
        await withCheckedContinuation(isolation: isolation) { waiter in
            let isThere = state.withLock { state in
                guard state.buffer.isEmpty, !state.hasEnded else { return true }
                state.waiters.append(waiter)
                return false
            }
            if isThere { waiter.resume() }
        }
    }
}
