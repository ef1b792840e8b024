import Foundation
import MeshBase
import Testing

@Suite struct TopicTests {
    private func drain<Element: Sendable>(_ stream: AsyncStream<Element>) async -> [Element] {
        var elements: [Element] = []
        for await element in stream { elements.append(element) }
        return elements
    }

    private func drain<Element: Sendable>(_ batches: TopicBatches<Element>) async -> [[Element]] {
        var all: [[Element]] = []
        while let batch = await batches.next() { all.append(batch) }
        return all
    }

    @Test func `Every subscriber receives everything published after it subscribed`() async {
        let topic = Topic<Int>()
        topic.publish(0)
        let first = topic.subscribe()
        topic.publish(1)
        let second = topic.subscribe()
        topic.publish(2)
        topic.finish()
        #expect(await drain(first) == [1, 2])
        #expect(await drain(second) == [2])
    }

    @Test("A full buffer drops elements by its policy and counts them", arguments: 1...5, 0...8)
    func bounded(limit: Int, published: Int) async {
        let oldest = Topic<Int>(bufferLimit: limit, overflow: .dropOldest)
        let newest = Topic<Int>(bufferLimit: limit, overflow: .dropNewest)
        let (fromOldest, fromNewest) = (oldest.subscribe(), newest.subscribe())
        for element in 0..<published {
            oldest.publish(element)
            newest.publish(element)
        }
        oldest.finish()
        newest.finish()
        let all = Array(0..<published)
        #expect(await drain(fromOldest) == Array(all.suffix(limit)))
        #expect(await drain(fromNewest) == Array(all.prefix(limit)))
        let dropped = UInt64(max(0, published - limit))
        #expect(oldest.droppedCount == dropped)
        #expect(newest.droppedCount == dropped)
    }

    @Test func `A slow subscriber doesn't affect a fast one`() async {
        let topic = Topic<Int>(bufferLimit: 1, overflow: .dropNewest)
        let slow = topic.subscribe()
        let fast = topic.subscribe()
        var iterator = fast.makeAsyncIterator()
        for element in 0..<10 {
            topic.publish(element)
            #expect(await iterator.next() == element)
        }
        topic.finish()
        #expect(await drain(slow) == [0])
        #expect(topic.droppedCount == 9)
    }

    @Test func `The latest element is replayed where the topic says so, until it finishes`() async {
        let topic = Topic<Int>(replaysLatest: true)
        #expect(topic.subscriberCount == 0)
        topic.publish(1)
        topic.publish(2)
        #expect(await topic.subscribe().first { _ in true } == 2)
        topic.finish()
        #expect(await drain(topic.subscribe()).isEmpty)
    }

    @Test func `Kept elements come before the latest and before what follows`() async {
        let topic = Topic<Int>()
        let stream = topic.subscribe(startingWith: [7, 8])
        topic.publish(9)
        topic.finish()
        #expect(await drain(stream) == [7, 8, 9])
    }

    @Test func `Finishing twice and publishing afterwards do nothing`() async {
        let topic = Topic<Int>()
        let stream = topic.subscribe()
        topic.finish()
        topic.finish()
        topic.publish(1)
        #expect(await drain(stream).isEmpty)
        #expect(await drain(topic.subscribe()).isEmpty)
        #expect(topic.subscriberCount == 0)
    }

    @Test func `A subscriber that stops listening is removed`() async {
        let topic = Topic<Int>()
        do {
            let stream = topic.subscribe()
            #expect(topic.subscriberCount == 1)
            _ = stream
        }
        _ = topic.subscribe()
        #expect(topic.subscriberCount == 0)
        let listener = Task { for await _ in topic.subscribe() {} }
        while topic.subscriberCount == 0 { await Task.yield() }
        listener.cancel()
        await listener.value
        #expect(topic.subscriberCount == 0)
    }

    @Test func `Deallocating a topic ends its streams`() async {
        var topic: Topic<Int>? = Topic()
        let stream = topic?.subscribe()
        topic?.publish(1)
        topic = nil
        #expect(await drain(stream ?? AsyncStream { $0.finish() }) == [1])
    }

    @Test func `Publishing from many tasks loses nothing within the bound`() async {
        let topic = Topic<Int>(bufferLimit: 8000)
        let stream = topic.subscribe()
        await withTaskGroup { group in
            for task in 0..<8 {
                group.addTask { for element in 0..<1000 { topic.publish(task * 1000 + element) } }
            }
        }
        topic.finish()
        let received = await drain(stream)
        #expect(Set(received) == Set(0..<8000))
        for task in 0..<8 {
            let own = received.filter { $0 / 1000 == task }
            #expect(own == own.sorted())
        }
    }

    @Test func `A lock keeps changes from many tasks whole`() async {
        let total = Locked(0)
        await withTaskGroup { group in
            for _ in 0..<8 { group.addTask { for _ in 0..<5000 { total.withLock { $0 += 1 } } } }
        }
        #expect(total.withLock { $0 } == 40_000)
    }

    @Test func `Cancelling a subscriber during a delivery blocks neither`() async {
        let topic = Topic<Int>(bufferLimit: 4)
        let isDone = Locked(false)
        let publisher = Thread {
            var element = 0
            while !isDone.withLock({ $0 }) {
                topic.publish(element)
                element += 1
            }
        }
        publisher.start()
        for _ in 0..<20_000 {
            let stream = topic.subscribe()
            let subscriber = Task { for await _ in stream {} }
            await Task.yield()
            subscriber.cancel()
        }
        isDone.withLock { $0 = true }
    }

    // MARK: Batches

    @Test(
        "Batches deliver the same elements as single reads, in the same order",
        arguments: [1, 2, 31, 32, 256, 257, 700])
    func batches(count: Int) async {
        let topic = Topic<Int>(bufferLimit: 2000)
        let (single, batched) = (topic.subscribe(), topic.subscribeBatches())
        topic.publish(-1)
        topic.publish(contentsOf: Array(0..<count))
        topic.publish(contentsOf: [])
        topic.publish(count)
        topic.finish()
        let all = Array(-1...count)
        #expect(await drain(single) == all)
        let received = await drain(batched)
        #expect(received.flatMap(\.self) == all)
        #expect(received.allSatisfy { (1...256).contains($0.count) })
    }

    @Test("A batch that does not fit drops by the policy, element by element", arguments: 1...6, 0...9)
    func boundedBatches(limit: Int, published: Int) async {
        for overflow in [Topic<Int>.OverflowPolicy.dropOldest, .dropNewest] {
            for first in 0...published {
                let topic = Topic<Int>(bufferLimit: limit, overflow: overflow)
                let stream = topic.subscribeBatches()
                topic.publish(contentsOf: Array(0..<first))
                topic.publish(contentsOf: Array(first..<published))
                topic.finish()
                let all = Array(0..<published)
                let expected = overflow == .dropOldest ? all.suffix(limit) : all.prefix(limit)
                #expect(await drain(stream).flatMap(\.self) == Array(expected))
                #expect(topic.droppedCount == UInt64(max(0, published - limit)))
            }
        }
    }

    @Test func `Dropped elements are reported with their total so far`() {
        let reports = Locked<[UInt64]>([])
        let topic = Topic<Int>(bufferLimit: 2, overflow: .dropNewest) { count in reports.withLock { $0.append(count) } }
        let streams = [topic.subscribe(), topic.subscribe()]
        topic.publish(contentsOf: [1, 2, 3])
        topic.publish(4)
        #expect(reports.withLock { $0 } == [2, 4])
        withExtendedLifetime(streams) {}
    }

    @Test func `The latest of a batch is replayed`() async {
        let topic = Topic<Int>(replaysLatest: true)
        topic.publish(contentsOf: [1, 2, 3])
        #expect(await topic.subscribeBatches().first { _ in true } == [3])
    }

    @Test func `A waiting reader is woken by an element, by the end, and by cancellation`() async {
        let topic = Topic<Int>()
        let stream = topic.subscribeBatches()
        let reader = Task { await drain(stream).flatMap(\.self) }
        for round in 0..<100 {
            topic.publish(contentsOf: [round])
            await Task.yield()
        }
        topic.finish()
        #expect(await reader.value == Array(0..<100))

        let endless = Topic<Int>()
        let waiting = endless.subscribe()
        let cancelled = Task { await drain(waiting) }
        while endless.subscriberCount == 0 { await Task.yield() }
        for _ in 0..<10 { await Task.yield() }
        cancelled.cancel()
        #expect(await cancelled.value.isEmpty)
        #expect(endless.subscriberCount == 0)
    }

    @Test func `Two readers of one stream share its elements`() async {
        let topic = Topic<Int>(bufferLimit: 2000)
        let stream = topic.subscribe()
        let readers = (0..<2).map { _ in Task { await drain(stream) } }
        for element in 0..<1000 {
            topic.publish(element)
            if element % 10 == 0 { await Task.yield() }
        }
        topic.finish()
        var all: [Int] = []
        for reader in readers { all += await reader.value }
        #expect(all.sorted() == Array(0..<1000))
    }

    // MARK: Kept elements

    private func keeping(_ keptLimit: Int, bufferLimit: Int = 8) -> Topic<Int> {
        Topic(
            bufferLimit: bufferLimit, overflow: .dropNewest, replaysLatest: false, keptLimit: keptLimit, onDrop: nil)
    }

    @Test func `Without a subscriber, kept elements wait for the first one; others are dropped`() async {
        let topic = keeping(4)
        topic.enqueue(contentsOf: [1, 2], isKept: true).complete()
        topic.publish(contentsOf: [3])
        #expect(topic.availableCount == 2)
        topic.enqueue(contentsOf: [4, 5, 6], isKept: true).complete()
        #expect(topic.droppedCount == 1)
        #expect(topic.availableCount == 0)
        let (first, second) = (topic.subscribe(), topic.subscribe())
        topic.publish(7)
        topic.finish()
        #expect(await drain(first) == [1, 2, 4, 5, 7])
        #expect(await drain(second) == [7])
    }

    @Test("Kept elements that the last subscriber left unread wait for the next one", arguments: 0...6)
    func leftBehind(taken: Int) async {
        let topic = keeping(8)
        do {
            let leaving = topic.subscribe()
            topic.enqueue(contentsOf: [0, 1, 2], isKept: true).complete()
            topic.publish(3)
            topic.enqueue(contentsOf: [4, 5], isKept: true).complete()
            var iterator = leaving.makeAsyncIterator()
            for element in 0..<taken { #expect(await iterator.next() == element) }
        }
        #expect(topic.subscriberCount == 0)
        let next = topic.subscribe()
        topic.finish()
        #expect(await drain(next) == [0, 1, 2, 4, 5].filter { $0 >= taken })
    }

    @Test func `Kept elements that one of several subscribers left unread aren't repeated for the others`() async {
        let topic = keeping(8)
        let staying = topic.subscribe()
        do {
            let leaving = topic.subscribe()
            topic.enqueue(contentsOf: [1, 2], isKept: true).complete()
            withExtendedLifetime(leaving) {}
        }
        topic.finish()
        #expect(await drain(staying) == [1, 2])
    }

    @Test func `The available space is that of the fullest subscriber, and its notice comes when half is free`() async {
        let topic = keeping(4, bufferLimit: 4)
        let (slow, quick) = (topic.subscribe(), topic.subscribe())
        var (slowReader, quickReader) = (slow.makeAsyncIterator(), quick.makeAsyncIterator())
        topic.enqueue(contentsOf: [1, 2, 3, 4], isKept: true).complete()
        let notices = Locked(0)
        topic.onHalfFree { notices.withLock { $0 += 1 } }
        #expect(topic.availableCount == 0)
        for _ in 0..<4 { _ = await quickReader.next() }
        #expect(topic.availableCount == 0)
        _ = await slowReader.next()
        #expect(topic.availableCount == 1)
        #expect(notices.withLock { $0 } == 0)
        _ = await slowReader.next()
        #expect(topic.availableCount == 2)
        #expect(notices.withLock { $0 } == 1)
        _ = await slowReader.next()
        #expect(notices.withLock { $0 } == 1)
        topic.onHalfFree { notices.withLock { $0 += 1 } }
        #expect(notices.withLock { $0 } == 2)
    }

    @Test func `An abandoned subscriber doesn't limit the others until it takes an element`() async {
        let topic = keeping(4, bufferLimit: 2)
        let stalled = topic.subscribe()
        var stalledReader = stalled.makeAsyncIterator()
        topic.enqueue(contentsOf: [1, 2], isKept: true).complete()
        // The publisher waits for a subscriber that is alone: otherwise every element would be lost.
        topic.abandonFullSubscribers()
        #expect(topic.availableCount == 0)
        let quick = topic.subscribe()
        topic.abandonFullSubscribers()
        #expect(topic.availableCount == 2)
        topic.enqueue(contentsOf: [3], isKept: true).complete()
        #expect(topic.droppedCount == 1)
        #expect(topic.availableCount == 1)
        _ = await stalledReader.next()
        topic.enqueue(contentsOf: [4], isKept: true).complete()
        #expect(topic.availableCount == 0)
        topic.finish()
        #expect(await drain(quick) == [3, 4])
        #expect(await drain(stalled) == [2, 4])
    }

    @Test
    func `Unwanted kept elements wait for an interested subscriber, and later ones don't count as processed before`()
        async
    {
        let topic = keeping(8)
        topic.enqueue(contentsOf: [1, 2, 3, 4], isKept: true).complete()
        let odd = topic.batches { $0 % 2 == 1 }
        topic.enqueue(contentsOf: [5, 6], isKept: true).complete()
        #expect(await odd.next() == [1])
        #expect(topic.processedKeptCount == 0)
        #expect(await odd.next() == [3])
        #expect(topic.processedKeptCount == 1)
        let even = topic.batches { $0 % 2 == 0 }
        #expect(await even.next() == [2])
        #expect(await even.next() == [4])
        #expect(topic.processedKeptCount == 2)
        #expect(await odd.next() == [5])
        #expect(topic.processedKeptCount == 3)
        topic.finish()
        #expect(await even.next() == [6])
        #expect(await even.next() == nil)
        #expect(await odd.next() == nil)
    }

    @Test func `Kept elements that only a departed subscriber wanted wait for the next interested one`() async {
        let topic = keeping(8)
        let odd = topic.batches { $0 % 2 == 1 }
        do {
            let leaving = topic.batches { $0 > 1 }
            topic.enqueue(contentsOf: [1, 2, 3, 4], isKept: true).complete()
            withExtendedLifetime(leaving) {}
        }
        let all = topic.subscribeBatches()
        topic.finish()
        #expect(await drain(odd).flatMap(\.self) == [1, 3])
        #expect(await drain(all).flatMap(\.self) == [2, 4])
    }

    @Test func `Unwanted kept elements delay the others at most up to the limit`() async {
        let topic = keeping(4)
        let odd = topic.batches { $0 % 2 == 1 }
        topic.enqueue(contentsOf: [2, 4, 1, 3], isKept: true).complete()
        #expect(topic.droppedCount == 0)
        topic.enqueue(contentsOf: [5], isKept: true).complete()
        #expect(topic.droppedCount == 1)
        let even = topic.batches { $0 % 2 == 0 }
        topic.enqueue(contentsOf: [6, 8], isKept: true).complete()
        #expect(topic.droppedCount == 1)
        topic.finish()
        #expect(await drain(odd).flatMap(\.self) == [1, 3, 5])
        #expect(await drain(even).flatMap(\.self) == [4, 6, 8])
    }
}
