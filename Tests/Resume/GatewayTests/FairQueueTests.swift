import MeshBase
import Testing

@testable import MeshResumeGateway

/// Users share a store in virtual time.
@Suite struct FairQueueTests {
    /// A store that answers one question per millisecond.
    private struct Store {
        var queue: FairQueue<Duration>
        var now = Duration.zero
        var asked: [String] = []
        /// The time that each answer took, by user.
        var times: [String: [Duration]] = [:]
        var strained: Set<String> = []

        init(_ budget: UserBudget) { queue = FairQueue(budget) }

        mutating func ask(_ user: String, byteCount: Int = 0) { queue.enter(now, of: user, byteCount: byteCount) }

        mutating func run(_ milliseconds: Int) {
            var running: [(user: String, since: Duration)] = []
            for _ in 0..<milliseconds {
                while let (user, since) = queue.take(now) {
                    asked.append(user)
                    running.append((user, since))
                }
                now += .milliseconds(1)
                if !running.isEmpty {
                    let (user, since) = running.removeFirst()
                    times[user, default: []].append(now - since)
                    queue.finish(user)
                }
                for (user, isStrained) in queue.takeStrained() {
                    if isStrained { strained.insert(user) } else { strained.remove(user) }
                }
            }
            for (user, _) in running { queue.finish(user) }
        }
    }

    private static func budget(perSecond: Double = 1e9, atOnce: Int = 1 << 30, outstanding: Int = 4) -> UserBudget {
        var budget = UserBudget(perSecond: perSecond, atOnce: atOnce)
        (budget.outstanding, budget.outstandingPerUser, budget.waitingMax) = (outstanding, 2, 8)
        return budget
    }

    @Test func `However much one user asks, another is answered as soon as under little load`() {
        var store = Store(Self.budget())
        for _ in 0..<10_000 { store.ask("eve") }
        for _ in 0..<50 {
            store.ask("anna")
            store.run(10)
        }
        #expect(store.times["anna"]?.count == 50)
        #expect((store.times["anna"] ?? []).allSatisfy { $0 <= .milliseconds(4) })
        #expect(store.strained == ["eve"])
    }

    @Test func `Users share by bytes, and everyone who waits is served`() {
        var store = Store(Self.budget(outstanding: 1))
        for _ in 0..<400 {
            store.ask("large", byteCount: 60 << 10)
            store.ask("small")
        }
        store.run(400)
        let large = store.asked.count { $0 == "large" }
        #expect((5...8).contains(large), "\(large) of 61 KiB for each 390 KiB of others")
        store.run(500)
        #expect(store.asked.count == 800)
    }

    @Test func `A user's rate limit doesn't delay others`() {
        var store = Store(Self.budget(perSecond: 10, atOnce: 5))
        for _ in 0..<100 { store.ask("eve") }
        store.ask("anna")
        store.run(1000)
        #expect((14...16).contains(store.asked.count { $0 == "eve" }) && store.asked.contains("anna"))
    }

    @Test func `The devices of a user with little waiting work are read again`() {
        var store = Store(Self.budget())
        for _ in 0..<8 { store.ask("eve") }
        let strained = store.queue.takeStrained()
        #expect(strained.map(\.isStrained) == [true])
        #expect(store.queue.dropsLivePackets(of: "eve") && !store.queue.dropsLivePackets(of: "anna"))
        store.run(20)
        #expect(store.strained.isEmpty && store.queue.isEmpty && store.queue.outstanding == 0)
        let later = store.queue.takeStrained()
        #expect(later.isEmpty)
    }

    @Test func `The number of buckets is bounded, and a name in use isn't forgotten for an unused one`() {
        var buckets = KeyedBuckets(perSecond: 1, atOnce: 2, namesMax: 4)
        for number in 0..<100 { _ = buckets.take("\(number)", .milliseconds(number)) }
        #expect(buckets.count <= 4)
        var used = KeyedBuckets(perSecond: 1, atOnce: 2, namesMax: 4)
        for name in ["a", "a", "b"] { _ = used.take(name, .zero) }
        for (number, name) in ["c", "d", "e", "f", "g"].enumerated() {
            let isTaken = used.take("a", .milliseconds(number))
            #expect(!isTaken)
            _ = used.take(name, .milliseconds(number))
        }
        used.giveBack("a")
        let (isTaken, isTakenAgain) = (used.take("a", .milliseconds(9)), used.take("a", .milliseconds(9)))
        #expect(isTaken && !isTakenAgain)
        let isRefilled = used.take("a", .seconds(2))
        #expect(isRefilled)
    }
}
