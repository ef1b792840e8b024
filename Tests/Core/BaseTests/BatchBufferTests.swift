import Testing

@testable import MeshBase

@Suite struct BatchBufferTests {
    /// A buffer and its expected elements, as a plain array.
    private struct Checked {
        var buffer = BatchBuffer<Int>()
        var expected: [(element: Int, position: UInt64?)] = []
        var next = 0
        /// The number of elements so far that must not be lost.
        var keptTotal: UInt64 = 0

        mutating func append(_ count: Int, isKept: Bool) {
            let elements = Array(next..<next + count)
            next += count
            let position = isKept ? keptTotal : nil
            if isKept { keptTotal += UInt64(count) }
            if count == 1 {
                buffer.append(elements[0], at: position)
            } else {
                buffer.append(contentsOf: elements, at: position)
            }
            expected += elements.enumerated().map { offset, element in
                (element, position.map { $0 + UInt64(offset) })
            }
        }

        /// - Returns: true if the buffer behaved as expected.
        mutating func step(_ random: inout SplitMix64) -> Bool {
            switch random.next() % 7 {
            case 0: append(1, isKept: random.next() % 2 == 0)
            case 1: append(Int(random.next() % 40), isKept: random.next() % 2 == 0)
            case 2: append(Int(random.next() % 600), isKept: random.next() % 2 == 0)
            case 3:
                let number = Int(random.next() % 500)
                buffer.removeFirst(number)
                expected.removeFirst(min(number, expected.count))
            case 4:
                let element = expected.isEmpty ? nil : expected.removeFirst().element
                guard buffer.popFirst() == element else { return false }
            case 5:
                let (divisor, rest) = (Int(random.next() % 4) + 1, Int(random.next() % 2))
                var taken = buffer.take { $0 % divisor == rest }
                let elements = expected.filter { $0.element % divisor == rest }
                expected.removeAll { $0.element % divisor == rest }
                guard taken.oldestPosition == elements.lazy.compactMap(\.position).first else { return false }
                for (element, _) in elements { guard taken.popFirst() == element else { return false } }
            default:
                let batch = buffer.popBatch() ?? []
                guard batch.isEmpty == expected.isEmpty, batch.count <= 256,
                    batch == expected.prefix(batch.count).map(\.element)
                else { return false }
                expected.removeFirst(batch.count)
            }
            return buffer.count == expected.count && buffer.isEmpty == expected.isEmpty
                && buffer.firstPosition == expected.first?.position
                && buffer.oldestPosition == expected.lazy.compactMap(\.position).first
        }
    }

    @Test("The buffer holds the same elements as an array after any operations", arguments: 0..<50 as Range<UInt64>)
    func model(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var checked = Checked()
        for step in 0..<400 {
            guard checked.step(&random) else {
                Issue.record("seed \(seed), step \(step)")
                return
            }
        }
        var kept = checked.buffer.takeKept()
        #expect(checked.buffer.isEmpty)
        var left: [Int] = []
        while let element = kept.popFirst() { left.append(element) }
        #expect(left == checked.expected.filter { $0.position != nil }.map(\.element), "seed \(seed)")
    }

    @Test("Numbered elements are merged in the order of their numbers", arguments: 0..<50 as Range<UInt64>)
    func merging(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var (all, expected): (BatchBuffer<Int>, [Int]) = (BatchBuffer(weigh: { $0 }), [])
        for number in 0..<random.next() % 700 {
            let element = Int(random.next() % 5)
            all.append(element, at: number)
            expected.append(element)
        }
        var others = all.take { $0 > 2 }
        let more = others.take { $0 > 3 }
        all.merge(more)
        all.merge(others)
        #expect(all.count == expected.count)
        #expect(all.bytes == expected.reduce(0, +))
        #expect(all.oldestPosition == (expected.isEmpty ? nil : 0))
        var merged: [Int] = []
        while let element = all.popFirst() { merged.append(element) }
        #expect(merged == expected)
    }

    @Test func `Small batches are gathered, and none is larger than 256`() {
        var buffer = BatchBuffer<Int>()
        for element in 0..<600 { buffer.append(element) }
        var counts: [Int] = []
        while let batch = buffer.popBatch() { counts.append(batch.count) }
        #expect(counts == [256, 256, 88])
        buffer.append(contentsOf: Array(0..<700))
        while let batch = buffer.popBatch() { counts.append(batch.count) }
        #expect(counts.dropFirst(3) == [256, 256, 188])
    }

    @Test func `A large batch is handed on without a copy`() {
        var buffer = BatchBuffer<Int>()
        let elements = Array(0..<100)
        buffer.append(contentsOf: elements)
        buffer.append(100)
        let taken = buffer.popBatch() ?? []
        let isShared = elements.withUnsafeBufferPointer { mine in
            taken.withUnsafeBufferPointer { $0.baseAddress == mine.baseAddress }
        }
        #expect(isShared)
        #expect(buffer.popBatch() == [100])
    }
}
