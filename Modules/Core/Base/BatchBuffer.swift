/// A queue of the elements that wait for one subscriber. It stores batches, because moving a batch costs as little as
/// moving an element.
///
/// The buffer stores an array of 32 to 256 elements as it is, and returns it without a copy if no element of it has
/// been taken. It joins smaller arrays and splits larger ones. Amortized O(1) for each element, plus O(batches) to
/// remove a batch.
struct BatchBuffer<Element: Sendable>: Sendable {
    private struct Batch: Sendable {
        var elements: [Element]
        /// Position of the first element if the elements are kept; otherwise nil. Kept elements aren't lost if a
        /// subscriber leaves without taking them.
        let position: UInt64?
        /// True if the array was created here, so elements can be appended to it.
        let isAppendable: Bool
        /// Number of bytes of the elements that haven't been taken.
        var bytes = 0

        /// True if an element with that position can follow in this batch.
        func isContinued(at number: UInt64?) -> Bool { number == position.map { $0 + UInt64(elements.count) } }
    }

    /// Maximum number of elements in a batch.
    static var batchMax: Int { 256 }
    /// Number of elements below which an array is copied, which is cheaper than a batch of its own.
    private static var joinedCountMax: Int { 32 }

    private(set) var count = 0
    /// Number of bytes of all elements; 0 without a `weigh` function.
    private(set) var bytes = 0
    private var batches: [Batch] = []
    /// Number of elements of the first batch that have been taken.
    private var takenCount = 0
    private let weigh: (@Sendable (Element) -> Int)?

    init(weigh: (@Sendable (Element) -> Int)? = nil) { self.weigh = weigh }

    var isEmpty: Bool { count == 0 }

    /// Position of the oldest element if it is kept; otherwise nil.
    var firstPosition: UInt64? { batches.first?.position.map { $0 + UInt64(takenCount) } }

    /// Position of the oldest kept element. O(batches).
    var oldestPosition: UInt64? { firstPosition ?? batches.first { $0.position != nil }?.position }

    /// - Parameter position: Position of the element if it is kept; otherwise nil.
    mutating func append(_ element: Element, at position: UInt64? = nil) {
        count += 1
        let weight = weigh?(element) ?? 0
        bytes += weight
        guard let last = batches.last, last.isAppendable, last.isContinued(at: position),
            last.elements.count < Self.batchMax
        else {
            return batches.append(Batch(elements: [element], position: position, isAppendable: true, bytes: weight))
        }
        batches[batches.count - 1].elements.append(element)
        batches[batches.count - 1].bytes += weight
    }

    /// - Parameter position: Position of the first element if they are kept; otherwise nil.
    mutating func append(contentsOf elements: [Element], at position: UInt64? = nil) {
        if elements.count < Self.joinedCountMax {
            for (offset, element) in elements.enumerated() { append(element, at: position.map { $0 + UInt64(offset) }) }
        } else if elements.count <= Self.batchMax {
            count += elements.count
            let weight = weight(of: elements[...])
            bytes += weight
            batches.append(Batch(elements: elements, position: position, isAppendable: false, bytes: weight))
        } else {
            for start in stride(from: 0, to: elements.count, by: Self.batchMax) {
                let end = min(start + Self.batchMax, elements.count)
                append(contentsOf: Array(elements[start..<end]), at: position.map { $0 + UInt64(start) })
            }
        }
    }

    mutating func popFirst() -> Element? {
        guard let first = batches.first else { return nil }
        let element = first.elements[takenCount]
        removeFirst(1)
        return element
    }

    /// Removes and returns the oldest elements: 1 to `batchMax`; nil if there are none.
    mutating func popBatch() -> [Element]? { popNumbered()?.elements }

    private mutating func popNumbered() -> (elements: [Element], position: UInt64?)? {
        guard !batches.isEmpty else { return nil }
        let position = firstPosition
        bytes -= batches[0].bytes
        let elements = batches.removeFirst().elements
        count -= elements.count - takenCount
        defer { takenCount = 0 }
        return (takenCount == 0 ? elements : Array(elements[takenCount...]), position)
    }

    /// Discards the oldest elements: `number` of them, or all if there are fewer.
    mutating func removeFirst(_ number: Int) {
        var rest = min(number, count)
        count -= rest
        while rest > 0 {
            let available = batches[0].elements.count - takenCount
            guard rest >= available else {
                let weight = weight(of: batches[0].elements[takenCount..<takenCount + rest])
                bytes -= weight
                batches[0].bytes -= weight
                takenCount += rest
                return
            }
            rest -= available
            takenCount = 0
            bytes -= batches.removeFirst().bytes
        }
    }

    private func weight(of elements: ArraySlice<Element>) -> Int {
        guard let weigh else { return 0 }
        return elements.reduce(0) { $0 + weigh($1) }
    }

    /// Removes all elements and returns the kept ones, in order.
    mutating func takeKept() -> BatchBuffer {
        var kept = BatchBuffer(weigh: weigh)
        while let (elements, position) = popNumbered() {
            if let position { kept.append(contentsOf: elements, at: position) }
        }
        return kept
    }

    /// Removes and returns the elements for which `isTaken` returns true, in order. O(elements).
    mutating func take(where isTaken: (Element) -> Bool) -> BatchBuffer {
        var (taken, rest) = (BatchBuffer(weigh: weigh), BatchBuffer(weigh: weigh))
        while let (elements, position) = popNumbered() {
            for (offset, element) in elements.enumerated() {
                let position = position.map { $0 + UInt64(offset) }
                if isTaken(element) { taken.append(element, at: position) } else { rest.append(element, at: position) }
            }
        }
        self = rest
        return taken
    }

    /// Merges kept elements into the kept elements of this buffer, by position. O(elements).
    mutating func merge(_ other: consuming BatchBuffer) {
        guard other.count > 0 else { return }
        guard count > 0 else {
            self = other
            return
        }
        var merged = BatchBuffer(weigh: weigh)
        while let (mine, theirs) = firstPositions(other) {
            if mine < theirs {
                if let element = popFirst() { merged.append(element, at: mine) }
            } else if let element = other.popFirst() {
                merged.append(element, at: theirs)
            }
        }
        for var rest in [self, other] {
            while let (elements, position) = rest.popNumbered() { merged.append(contentsOf: elements, at: position) }
        }
        self = merged
    }

    private func firstPositions(_ other: borrowing BatchBuffer) -> (UInt64, UInt64)? {
        guard let mine = firstPosition, let theirs = other.firstPosition else { return nil }
        return (mine, theirs)
    }
}
