import Foundation
import MeshBase
import MeshConnection
import MeshIdentity
import MeshScenarioTransport
import MeshTransport
import Testing

@testable import MeshRequests

/// Retries, their times and their reports.
@Suite struct RetryTests {
    struct Stage {
        let world: World
        let here: Device
        let there: Device
        let transport: StubbornTransport
        let done = Done()
    }

    private func stage(seed: UInt64, isLying: Bool = false) async throws -> Stage {
        let world = World(seed: seed)
        let transport = StubbornTransport(world.network.makeTransport(localPeer: phone), isLying: isLying)
        let here = try Device(phone, transport, store: nil, clock: world.network.clock)
        let there = try world.device(watch)
        if isLying { transport.claim(true, watch) }
        await world.meet(here, there)
        let stage = Stage(world: world, here: here, there: there, transport: transport)
        let done = stage.done
        there.requests.register(Add.self) {
            done.note($0.left)
            return $0.left + $0.right
        }
        return stage
    }

    private func failures(_ device: Device) -> [Bool] {
        device.events.all.compactMap {
            if case .deliveryFailed("Add", _, let willRetry) = $0 { willRetry } else { nil }
        }
    }

    @Test(arguments: [DeliveryStrategy.liveOnly, .queueOnly, .latestOnly])
    func `A transient failure is retried after 200 milliseconds`(strategy: DeliveryStrategy) async throws {
        let stage = try await stage(seed: 41)
        stage.transport.fail(with: [SessionSyncError.queueFull(limit: 1), SessionSyncError.queueFull(limit: 1)])
        let startedAt = stage.world.network.elapsed
        let sum = try await stage.world.finish {
            try await stage.here.requests.send(Add(left: 1, right: 1), strategy: strategy)
        }
        #expect(sum == 2)
        #expect((400...700).contains((stage.world.network.elapsed - startedAt).milliseconds))
        #expect(failures(stage.here) == [true, true])
        #expect(stage.here.connection.health.current.isHealthy)
    }

    @Test(arguments: [DeliveryStrategy.liveOnly, .queueOnly, .latestOnly])
    func `A request that is cancelled while the transport makes it wait is never sent`(strategy: DeliveryStrategy)
        async throws
    {
        let stage = try await stage(seed: 52)
        stage.transport.hold()
        // On the lane of newest values the second request replaces the first.
        let calls = (1...2).map { number in
            Pending { try await stage.here.requests.send(Add(left: number, right: 0), strategy: strategy) }
        }
        await stage.world.run(for: .milliseconds(100))
        for call in calls { call.task.cancel() }
        for call in calls {
            await #expect(throws: ConnectionError.cancelled) { _ = try await stage.world.finish(call) }
        }
        stage.transport.letGo()
        await stage.world.run(for: .seconds(5))
        #expect(stage.done.all == [])
    }

    @Test func `A request may have an unlimited timeout`() async throws {
        let stage = try await stage(seed: 51)
        let sum = try await stage.world.finish {
            try await stage.here.requests.send(
                Add(left: 1, right: 1), retryPolicy: RetryPolicy(maxAttempts: 1, timeout: .seconds(Int64.max)))
        }
        #expect(sum == 2)
    }

    @Test func `After the last attempt the caller gets the error`() async throws {
        let stage = try await stage(seed: 42)
        let error = SessionSyncError.queueFull(limit: 1)
        stage.transport.fail(with: Array(repeating: error, count: 3))
        await #expect(throws: ConnectionError(error)) {
            _ = try await stage.world.finish {
                try await stage.here.requests.send(Add(left: 1, right: 1), strategy: .liveOnly)
            }
        }
        #expect(failures(stage.here) == [true, true, false])
        #expect(stage.transport.sendCount == 3)
        stage.transport.fail(with: [error])
        await #expect(throws: ConnectionError(error)) {
            _ = try await stage.world.finish {
                try await stage.here.requests.send(Add(left: 1, right: 1), strategy: .queueOnly, retryPolicy: .none)
            }
        }
    }

    @Test func `A permanent failure isn't retried`() async throws {
        let stage = try await stage(seed: 43)
        let tooLarge = SessionSyncError.payloadTooLarge(bytes: 2, limit: 1, limitID: "x")
        for strategy in DeliveryStrategy.allCases {
            stage.transport.fail(with: [tooLarge])
            await #expect(throws: ConnectionError(tooLarge)) {
                _ = try await stage.world.finish {
                    try await stage.here.requests.send(Add(left: 1, right: 1), strategy: strategy)
                }
            }
        }
        #expect(failures(stage.here) == DeliveryStrategy.allCases.map { _ in false })
    }

    @Test(arguments: [DeliveryStrategy.liveThenQueue, .liveThenLatest])
    func `A live send that fails falls back at once`(strategy: DeliveryStrategy) async throws {
        let stage = try await stage(seed: 44)
        stage.transport.fail(with: [SessionSyncError.notReachable])
        let sum = try await stage.world.finish {
            try await stage.here.requests.send(Add(left: 1, right: 1), strategy: strategy)
        }
        #expect(sum == 2)
        let fallback = try #require(strategy.fallbackMethod)
        #expect(stage.here.events.all.contains(.fallbackUsed(from: .live, to: fallback)))
        #expect(failures(stage.here) == [true])
    }

    @Test func `A peer falsely reported as reachable is tried until the timeout`() async throws {
        let stage = try await stage(seed: 45, isLying: true)
        stage.transport.fail(with: Array(repeating: SessionSyncError.notReachable, count: 5))
        let sum = try await stage.world.finish {
            try await stage.here.requests.send(Add(left: 1, right: 1), strategy: .liveOnly)
        }
        #expect(sum == 2)
        stage.transport.fail(with: Array(repeating: SessionSyncError.notReachable, count: 100))
        await #expect(throws: ConnectionError.timeout) {
            _ = try await stage.world.finish {
                try await stage.here.requests.send(Add(left: 2, right: 1), strategy: .liveOnly)
            }
        }
        #expect(stage.here.events.all.contains(.requestExpired(requestType: "Add")))
        #expect(stage.done.all == [1])
    }

    @Test(arguments: DeliveryStrategy.allCases)
    func `A peer falsely reported as unreachable is still asked`(strategy: DeliveryStrategy) async throws {
        let stage = try await stage(seed: 46, isLying: true)
        stage.transport.claim(false, watch)
        await stage.world.run { !stage.here.requests.isReachable() }
        let sum = try await stage.world.finish {
            try await stage.here.requests.send(Add(left: 1, right: 1), strategy: strategy)
        }
        #expect(sum == 2)
        #expect(stage.done.all == [1])
        #expect(stage.here.requests.pendingRequestCount == 0)
    }

    @Test func `A slow handler runs once, however often the request is repeated`() async throws {
        let stage = try await stage(seed: 47)
        let (done, pauses) = (stage.done, Requester(stage.there.connection))
        stage.there.requests.register(Add.self) {
            done.note($0.left)
            try await pauses.pause(.seconds(8))
            return 8
        }
        for strategy in DeliveryStrategy.allCases {
            let sum = try await stage.world.finish {
                try await stage.here.requests.send(Add(left: 1, right: 1), strategy: strategy)
            }
            #expect(sum == 8)
        }
        #expect(done.all.count == DeliveryStrategy.allCases.count)
        // A second copy reveals that the first has arrived. After it, no more are sent.
        #expect(stage.transport.sendCount <= 3 * DeliveryStrategy.allCases.count)
    }

    @Test func `Five unanswered requests are unhealthy, and one answer is healthy`() async throws {
        let stage = try await stage(seed: 48)
        stage.world.network.partition(from: phone, to: watch)
        for _ in 0..<5 {
            await #expect(throws: ConnectionError.timeout) {
                _ = try await stage.world.finish {
                    try await stage.here.requests.send(
                        Add(left: 1, right: 1), strategy: .liveOnly,
                        retryPolicy: RetryPolicy(maxAttempts: 1, timeout: .seconds(1)))
                }
            }
        }
        #expect(!stage.here.connection.health.current.isHealthy)
        stage.world.network.heal()
        await stage.world.run(for: .seconds(30))
        _ = try await stage.world.finish { try await stage.here.requests.send(Add(left: 1, right: 1)) }
        #expect(stage.here.connection.health.current.isHealthy)
    }

    @Test func `A handler that takes too long doesn't make the connection unhealthy`() async throws {
        let stage = try await stage(seed: 49)
        let pauses = Requester(stage.there.connection)
        stage.there.requests.register(Add.self) { _ in
            try await pauses.pause(.seconds(60))
            return 0
        }
        for _ in 0..<5 {
            await #expect(throws: ConnectionError.timeout) {
                _ = try await stage.world.finish { try await stage.here.requests.send(Add(left: 1, right: 1)) }
            }
        }
        #expect(stage.here.connection.health.current.isHealthy)
    }

    @Test func `A bounded number of requests wait, and the next one throws`() async throws {
        let stage = try await stage(seed: 50)
        stage.world.network.partition([phone], [watch])
        await stage.world.run { !stage.here.requests.isReachable() }
        let here = stage.here
        let calls = (0..<RequesterCore.queueMax).map { left in
            Pending { try await here.requests.send(Add(left: left, right: 0), strategy: .queueOnly) }
        }
        await stage.world.run { here.requests.pendingRequestCount == RequesterCore.queueMax }
        await #expect(throws: ConnectionError.deliveryFailed(reason: "256 requests already wait for a peer")) {
            _ = try await stage.world.finish {
                try await here.requests.send(Add(left: -1, right: 0), strategy: .queueOnly, retryPolicy: .none)
            }
        }
        stage.world.network.heal()
        for (left, call) in calls.enumerated() { #expect(try await stage.world.finish(call) == left) }
        // Each queued request ran once.
        #expect(Set(stage.done.all) == Set(0..<RequesterCore.queueMax))
        #expect(stage.done.all.count == RequesterCore.queueMax)
        #expect(here.events.all.contains { if case .queueFlushed = $0 { true } else { false } })
    }
}
