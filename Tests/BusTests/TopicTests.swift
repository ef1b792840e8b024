import MeshBus
import Testing

@Suite struct TopicTests {
    private func drain<Element: Sendable>(_ stream: AsyncStream<Element>) async -> [Element] {
        var elements: [Element] = []
        for await element in stream { elements.append(element) }
        return elements
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

    @Test("A full buffer drops by its policy and counts", arguments: 1...5, 0...8)
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

    @Test func `A slow subscriber takes nothing from a fast one`() async {
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

    @Test func `Who stops listening is forgotten`() async {
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

    @Test func `Letting go of a topic ends its streams`() async {
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
}
