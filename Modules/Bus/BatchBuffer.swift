/// What waits for one subscriber, in order: a queue of batches, so that many elements change hands at the price of one.
///
/// A batch that is large enough is kept and handed out as the array that it came in, shared and never copied; small ones
/// are gathered. O(1) for each element and for each batch.
struct BatchBuffer<Element: Sendable>: Sendable {
    private struct Batch: Sendable {
        var elements: [Element]
        /// Must not be lost when the subscriber goes without having taken it.
        let isKept: Bool
        /// Made here, so that more can be gathered in it.
        let isOwn: Bool
        /// Of the elements that have not been taken.
        var bytes = 0
    }

    /// Elements of a batch at most.
    static var batchMax: Int { 256 }
    /// Fewer elements than this are cheaper copied than kept apart.
    private static var gatheredMax: Int { 32 }

    private(set) var count = 0
    /// What the elements weigh; 0 where nobody weighs them.
    private(set) var bytes = 0
    private var batches: [Batch] = []
    /// Elements of the first batch that have been taken.
    private var takenCount = 0
    private let weigh: (@Sendable (Element) -> Int)?

    init(weigh: (@Sendable (Element) -> Int)? = nil) { self.weigh = weigh }

    var isEmpty: Bool { count == 0 }

    /// Elements that must not be lost. O(batches).
    var keptCount: Int {
        let count = batches.reduce(0) { $0 + ($1.isKept ? $1.elements.count : 0) }
        return isFirstKept ? count - takenCount : count
    }

    var isFirstKept: Bool { batches.first?.isKept ?? false }

    mutating func append(_ element: Element, isKept: Bool = false) {
        count += 1
        let weight = weigh?(element) ?? 0
        bytes += weight
        guard let last = batches.last, last.isOwn, last.isKept == isKept, last.elements.count < Self.batchMax else {
            return batches.append(Batch(elements: [element], isKept: isKept, isOwn: true, bytes: weight))
        }
        batches[batches.count - 1].elements.append(element)
        batches[batches.count - 1].bytes += weight
    }

    mutating func append(contentsOf elements: [Element], isKept: Bool = false) {
        if elements.count < Self.gatheredMax {
            for element in elements { append(element, isKept: isKept) }
        } else if elements.count <= Self.batchMax {
            count += elements.count
            let weight = weight(of: elements[...])
            bytes += weight
            batches.append(Batch(elements: elements, isKept: isKept, isOwn: false, bytes: weight))
        } else {
            for start in stride(from: 0, to: elements.count, by: Self.batchMax) {
                let end = min(start + Self.batchMax, elements.count)
                append(contentsOf: Array(elements[start..<end]), isKept: isKept)
            }
        }
    }

    mutating func popFirst() -> Element? {
        guard let first = batches.first else { return nil }
        let element = first.elements[takenCount]
        removeFirst(1)
        return element
    }

    /// The oldest elements, at most `batchMax` and at least one if there are any.
    mutating func popBatch() -> [Element]? {
        guard !batches.isEmpty else { return nil }
        bytes -= batches[0].bytes
        let elements = batches.removeFirst().elements
        count -= elements.count - takenCount
        defer { takenCount = 0 }
        return takenCount == 0 ? elements : Array(elements[takenCount...])
    }

    /// Forgets the oldest elements; as many as there are, if there are fewer.
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

    /// The elements that must not be lost, in order; the rest is forgotten.
    mutating func takeKept() -> BatchBuffer {
        var kept = BatchBuffer(weigh: weigh)
        var isKept = batches.first?.isKept ?? false
        while let elements = popBatch() {
            if isKept { kept.append(contentsOf: elements, isKept: true) }
            isKept = batches.first?.isKept ?? false
        }
        return kept
    }
}
