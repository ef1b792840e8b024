import Foundation
import GroceriesExample
import MeshEngine
import MeshIdentity
import MeshScenarioTransport
import MeshSession
import MeshTransport
import Testing

#if canImport(Combine)
    import Combine
#endif

/// The APIs of one session that report each step in order, as Docs/Guides/Sessions.md shows them. The example's own package
/// tests the model.
@MainActor @Suite struct FacesTests {
    private let world = VirtualWorld(seed: 71)

    private func session(_ peer: SessionPeer, _ incarnation: UInt32) -> GrocerySession {
        var configuration = SyncedSessionConfiguration<Groceries, GroceryEvent>()
        world.adapt(&configuration, incarnation: incarnation)
        return GrocerySession(
            GroceryFeature(), sessionID: sessionID, over: world.transport(peer), configuration: configuration)
    }

    private func pair() async -> (GrocerySession, GrocerySession) {
        let (here, there) = (session(phone, 1), session(watch, 2))
        await world.meet()
        for session in [here, there] { session.start() }
        await world.settle(until: { here.isMember && there.isMember })
        return (here, there)
    }

    @Test func `a log has each step in order`() async throws {
        let (here, there) = await pair()
        let log = GroceryLog()
        let task = Task { await log.follow(here.updates()) }
        await world.step()
        try here.submit(.add("milk"))
        await world.settle(until: { here.confirmedCount == 1 })
        try there.submit(.buy("milk"))
        await world.settle(until: { here.confirmedCount == 2 })
        await world.step()
        #expect(
            log.lines == [
                "0 items, 0 steps not told", "phone: add(\"milk\")", "for good: add(\"milk\")", "watch: buy(\"milk\")",
                "for good: buy(\"milk\")",
            ])
        task.cancel()
        await task.value
    }

    #if canImport(Combine)
        @Test func `a ticker shows the last step, and doesn't retain its session`() async throws {
            let (here, there) = await pair()
            var ticker: GroceryTicker? = GroceryTicker(here)
            try there.submit(.add("milk"))
            await world.settle(until: { ticker?.line == "watch: add(\"milk\")" })
            weak let gone = ticker
            ticker = nil
            #expect(gone == nil)
        }

        @Test func `a subscriber gets as many elements as it requests, then the newest when it requests more`()
            async throws
        {
            let (here, _) = await pair()
            let reader = Reader()
            here.statesPublisher().receive(subscriber: reader)
            reader.subscription?.request(.max(1))
            await world.settle(until: { reader.counts == [0] })
            for item in ["milk", "bread", "tea"] { try here.submit(.add(item)) }
            await world.run(.milliseconds(100))
            #expect(reader.counts == [0])
            reader.subscription?.request(.unlimited)
            await world.settle(until: { reader.counts == [0, 3] })
            let closing = Task { try await here.close() }
            await world.settle(until: { reader.hasFinished })
            try await closing.value
        }

        private final class Reader: Subscriber {
            private(set) var subscription: (any Subscription)?
            private(set) var counts: [Int] = []
            private(set) var hasFinished = false

            func receive(subscription: any Subscription) { self.subscription = subscription }
            func receive(_ list: Groceries) -> Subscribers.Demand {
                counts.append(list.items.count)
                return .none
            }
            func receive(completion: Subscribers.Completion<Never>) { hasFinished = true }
        }
    #endif
}
