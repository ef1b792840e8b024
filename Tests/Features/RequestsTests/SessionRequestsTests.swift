import Foundation
import MeshBase
import MeshConnection
import MeshIdentity
import MeshScenarioTransport
import MeshTransport
import Testing

@testable import MeshRequests

@Suite struct SessionRequestsTests {
    @Test(
        arguments: [ScenarioLanes.network, ScenarioLanes.datagrams, ScenarioLanes.streams, ScenarioLanes.paired],
        DeliveryStrategy.allCases)
    func `A request is answered on every lane of every link`(
        lanes: [LinkLane: PayloadLimit], strategy: DeliveryStrategy
    ) async throws {
        let world = World(seed: 3)
        let here = try world.device(phone, lanes: lanes)
        let there = try world.device(watch, lanes: lanes)
        await world.meet(here, there)
        there.requests.register(Add.self) { $0.left + $0.right }
        let sum = try await world.finish { try await here.requests.send(Add(left: 2, right: 3), strategy: strategy) }
        #expect(sum == 5)
        await world.run(for: .seconds(1))
        #expect(here.events.all.contains { if case .messageSent("Add", _) = $0 { true } else { false } })
        #expect(there.events.all.contains(.messageReceived(requestType: "Add")))
        #expect(here.requests.ignoredReplyCount == 0)
        #expect(here.requests.underWay.isEmpty)
    }

    @Test func `Types are named by their path without the module`() {
        struct Local: SessionRequest { typealias Response = VoidResponse }
        enum Inner { struct Ask: SessionRequest { typealias Response = VoidResponse } }
        #expect(Add.requestType == "Add")
        #expect(Nest.Ask.requestType == "Nest.Ask")
        #expect(Local.requestType == "SessionRequestsTests.Local")
        #expect(Inner.Ask.requestType == "SessionRequestsTests.Inner.Ask")
        #expect(Hidden.requestType == "Hidden")
    }

    @Test func `Policies and modes have their documented effect`() {
        #expect(RetryPolicy(maxAttempts: -3).maxAttempts == 1)
        #expect(RetryPolicy.default == RetryPolicy(maxAttempts: 3, timeout: .seconds(10)))
        #expect(RetryPolicy.none == RetryPolicy(maxAttempts: 1, timeout: .seconds(10)))
        #expect(RetryPolicy.patient == RetryPolicy(maxAttempts: 5, timeout: .seconds(30)))
        let retried: [ConnectionError] = [.notReachable, .deliveryFailed(reason: ""), .replyFailed(reason: "")]
        #expect(retried.allSatisfy(RetryPolicy.default.shouldRetry))
        let final: [ConnectionError] = [.timeout, .cancelled, .handlerError(description: ""), .notActivated]
        #expect(!final.contains(where: RetryPolicy.default.shouldRetry))
        #expect(DeliveryMode.allCases.map(\.requiresImmediateReachability) == [true, false])
    }

    @Test func `Live requests run concurrently`() async throws {
        let world = World(seed: 4)
        let (here, there) = try await world.pair()
        let (first, second) = (AsyncValue<Bool>(), AsyncValue<Bool>())
        // Each handler waits for the other.
        there.requests.register(Add.self) { add in
            let (mine, other) = add.left == 0 ? (first, second) : (second, first)
            mine.resolve(true)
            _ = await other.value()
            return add.left
        }
        let calls = (0..<2).map { left in
            Pending { try await here.requests.send(Add(left: left, right: 0), strategy: .liveOnly) }
        }
        for (left, call) in calls.enumerated() { #expect(try await world.finish(call) == left) }
    }

    @Test func `A newer request replaces the one in the slot, and the earlier caller gets an error`() async throws {
        let world = World(seed: 5)
        let (here, there) = try await world.pair()
        let done = Done()
        there.requests.register(Add.self) {
            done.note($0.left)
            return $0.left
        }
        world.network.partition([phone], [watch])
        await world.run { !here.requests.isReachable() }
        let calls = (0..<4).map { left in
            Pending {
                try await here.requests.send(Add(left: left, right: 0), strategy: .latestOnly, retryPolicy: .patient)
            }
        }
        await world.run { calls.count(where: \.isOver) == 3 }
        var answers: [Int] = []
        world.network.heal()
        for call in calls {
            do {
                answers.append(try await world.finish(call))
            } catch {
                #expect(error as? ConnectionError == .cancelled)
            }
        }
        #expect(answers.count == 1)
        #expect(done.all == answers)
    }

    @Test func `One request for each type waits in the context`() async throws {
        let world = World(seed: 6)
        let (here, there) = try await world.pair()
        there.requests.register(Add.self) { $0.left }
        there.requests.register(Find.self) { $0.name }
        world.network.partition([phone], [watch])
        await world.run { !here.requests.isReachable() }
        let add = Pending { try await here.requests.send(Add(left: 1, right: 0), strategy: .latestOnly) }
        let find = Pending { try await here.requests.send(Find(name: "x"), strategy: .latestOnly) }
        await world.run { here.requests.pendingRequestCount == 2 }
        world.network.heal()
        #expect(try await world.finish(add) == 1)
        #expect(try await world.finish(find) == "x")
    }

    @Test func `Of several peers the first that can answer does so`() async throws {
        let world = World(seed: 7)
        let (here, there) = try await world.pair()
        let other = try world.device(tablet)
        await world.run { here.requests.isReachable(tablet) }
        other.requests.register(Add.self) { $0.left + $0.right }
        // After a launch, requests wait for their handlers for a while. That time has to pass.
        await world.run(for: .seconds(3))
        #expect(try await world.finish { try await here.requests.send(Add(left: 1, right: 1)) } == 2)
        await #expect(throws: ConnectionError.handlerNotRegistered(requestType: "Add")) {
            _ = try await world.finish { try await here.requests.send(Add(left: 1, right: 1), to: watch) }
        }
        await #expect(throws: ConnectionError.handlerNotRegistered(requestType: "Find")) {
            _ = try await world.finish { try await here.requests.send(Find(name: "")) }
        }
        there.requests.register(Add.self) { _ in 3 }
        #expect(try await world.finish { try await here.requests.send(Add(left: 1, right: 1), to: watch) } == 3)
    }

    @Test func `A peer without a handler doesn't answer for a peer that hasn't received the request`() async throws {
        let world = World(seed: 16)
        let (here, there) = try await world.pair()
        let other = try world.device(tablet)
        await world.run { here.requests.isReachable(tablet) }
        other.requests.register(Add.self) { $0.left + $0.right }
        await world.run(for: .seconds(3))
        // The live copy to the tablet is lost, and the watch refuses its own copy.
        world.network.partition(from: phone, to: tablet)
        let pending = Pending { try await here.requests.send(Add(left: 1, right: 1)) }
        await world.run(for: .seconds(4))
        world.network.heal()
        #expect(try await world.finish(pending) == 2)
        #expect(there.events.all.contains(.messageReceived(requestType: "Add")))
    }

    @Test func `A request that arrives at launch waits for its handler`() async throws {
        let world = World(seed: 8)
        let (here, there) = try await world.pair()
        let pending = Pending { try await here.requests.send(Add(left: 1, right: 1), strategy: .liveOnly) }
        await world.run { there.events.all.contains(.messageReceived(requestType: "Add")) }
        there.requests.register(Add.self) { $0.left + $0.right }
        #expect(try await world.finish(pending) == 2)
    }

    @Test func `A round trip needs no handler and fails when nothing comes back`() async throws {
        let world = World(seed: 9)
        let (here, there) = try await world.pair()
        let duration = try await world.finish { try await here.requests.probe(timeout: .seconds(5)) }
        #expect(duration > .zero && duration < .seconds(1))
        world.network.partition(from: watch, to: phone)
        await #expect(throws: ConnectionError.timeout) {
            _ = try await world.finish { try await here.requests.probe(timeout: .seconds(3)) }
        }
        world.network.partition(from: phone, to: watch)
        await world.run { !here.requests.isReachable() }
        await #expect(throws: ConnectionError.notReachable) {
            _ = try await world.finish { try await here.requests.probe(timeout: .seconds(3)) }
        }
        let probe = Pending { try await here.requests.probe(timeout: .seconds(60)) }
        await world.run(for: .seconds(2))
        world.network.heal()
        _ = try await world.finish(probe)
        let cancelled = Pending { try await here.requests.probe(timeout: .seconds(60)) }
        cancelled.task.cancel()
        await #expect(throws: ConnectionError.cancelled) { _ = try await world.finish(cancelled) }
        withExtendedLifetime(there) {}
    }

    @Test func `A request that waits for the peer gets its answer, from one run of the handler`() async throws {
        let world = World(seed: 10)
        let (here, there) = try await world.pair()
        let done = Done()
        there.requests.register(Add.self) {
            done.note($0.left)
            return $0.left + $0.right
        }
        world.network.partition([phone], [watch])
        await world.run { !here.requests.isReachable() }
        let pending = Pending {
            try await here.requests.sendWhenReady(Add(left: 4, right: 4), connectionTimeout: .seconds(20))
        }
        await world.run(for: .seconds(15))
        #expect(!pending.isOver)
        world.network.heal()
        #expect(try await world.finish(pending) == 8)
        // Answers are lost until the second attempt.
        world.network.partition(from: watch, to: phone)
        let second = Pending { try await here.requests.sendWhenReady(Add(left: 5, right: 5), strategy: .liveOnly) }
        await world.run(for: .seconds(11))
        world.network.heal()
        #expect(try await world.finish(second) == 10)
        #expect(done.all == [4, 5])
        world.network.partition([phone], [watch])
        await world.run { !here.requests.isReachable() }
        await #expect(throws: ConnectionError.timeout) {
            _ = try await world.finish {
                try await here.requests.sendWhenReady(
                    Add(left: 6, right: 6), maxAttempts: 2, connectionTimeout: .seconds(3))
            }
        }
    }

    @Test func `Waiting ends when the peer appears, at the timeout, or with the task`() async throws {
        let world = World(seed: 11)
        let (here, _) = try await world.pair()
        try await here.requests.waitUntilReachable()
        world.network.partition([phone], [watch])
        await world.run { !here.requests.isReachable() }
        await #expect(throws: ConnectionError.timeout) {
            try await world.finish { try await here.requests.waitUntilReachable(timeout: .seconds(1)) }
        }
        let cancelled = Pending { try await here.requests.waitUntilReachable(watch) }
        await world.run(for: .milliseconds(100))
        cancelled.task.cancel()
        await #expect(throws: ConnectionError.cancelled) { try await world.finish(cancelled) }
        let pending = Pending { try await here.requests.waitUntilReachable(watch) }
        world.network.heal()
        try await world.finish(pending)
    }

    @Test func `Cancelling the queue throws to its callers, and nothing is sent`() async throws {
        let world = World(seed: 12)
        let (here, there) = try await world.pair()
        let done = Done()
        there.requests.register(Add.self) {
            done.note($0.left)
            return 0
        }
        world.network.partition([phone], [watch])
        await world.run { !here.requests.isReachable() }
        let calls = DeliveryStrategy.allCases.enumerated().map { index, strategy in
            Pending { try await here.requests.send(Add(left: index, right: 0), strategy: strategy) }
        }
        // Two of them need the same slot, and only one gets it.
        await world.run { here.requests.pendingRequestCount == 4 && calls.contains(where: \.isOver) }
        let counts = Recorder(here.requests.pendingRequestCounts())
        await world.run { counts.all == [4] }
        here.requests.cancelAllQueuedRequests()
        for call in calls {
            await #expect(throws: ConnectionError.cancelled) { _ = try await world.finish(call) }
        }
        #expect(!here.requests.cancelQueuedRequest(id: UUID()))
        await world.run { counts.all.last == 0 }
        world.network.heal()
        await world.run(for: .seconds(5))
        #expect(done.all.isEmpty)
    }

    @Test func `Nothing that requests start keeps them alive`() async throws {
        let world = World(seed: 13)
        weak var kept: SessionRequests?
        weak var connection: TransportConnection?
        do {
            let (here, _) = try await world.pair()
            kept = here.requests
            connection = here.connection
            world.network.partition([phone], [watch])
            await world.run { !here.requests.isReachable() }
            for strategy in DeliveryStrategy.allCases {
                try await world.finish { await here.requests.send(Log(line: 1), strategy: strategy) }
            }
        }
        await world.run { kept == nil && connection == nil }
        #expect(kept == nil && connection == nil)
    }
}

enum Nest {
    struct Ask: SessionRequest {
        typealias Response = Int
        let number: Int
    }
}

private struct Hidden: SessionRequest { typealias Response = VoidResponse }
