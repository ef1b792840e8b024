import Foundation
import MeshBase
import MeshConnection
import MeshIdentity
import MeshScenarioTransport
import MeshStorage
import MeshTransport
import Testing

@testable import MeshRequests

/// Faults of the references when a request arrives.
@Suite struct ReceivingFaultTests {
    /// - Returns: the violation, or nil if every request ran once.
    private func complaint(expected: [Int], handled: [Int]) -> String? {
        for line in expected where !handled.contains(line) { return "\(line) never ran" }
        for line in handled where handled.count(where: { $0 == line }) > 1 { return "\(line) ran more than once" }
        return handled.first { !expected.contains($0) }.map { "\($0) should not have run" }
    }

    @Test func `W1 fire-and-forget runs its handler on every lane`() async throws {
        for (isAway, strategy) in [false, true].flatMap({ isAway in DeliveryStrategy.allCases.map { (isAway, $0) } }) {
            let world = World(seed: 11)
            let (here, there) = try await world.pair()
            let done = Done()
            there.requests.register(Log.self) {
                done.note($0.line)
                return VoidResponse()
            }
            if isAway {
                world.network.partition([phone], [watch])
                await world.run { !here.requests.isReachable() }
            }
            try await world.finish { await here.requests.send(Log(line: 1), strategy: strategy) }
            world.network.heal()
            await world.run(for: .seconds(9))
            #expect(
                complaint(expected: [1], handled: done.all) == nil, "\(strategy), \(isAway ? "away" : "reachable")")
            #expect(here.requests.pendingRequestCount == 0)
        }
        var faulty = FaultyInbox()
        faulty.receiveLive(1, isFireAndForget: true)
        #expect(complaint(expected: [1], handled: faulty.handled) != nil)
    }

    @Test func `W2 a request leaves nothing in the context`() async throws {
        func complaint(keys: Int) -> String? { keys == 0 ? nil : "\(keys) keys are left" }
        let world = World(seed: 12)
        let (here, there) = try await world.pair()
        there.requests.register(Log.self) { _ in VoidResponse() }
        there.requests.register(Add.self) { $0.left + $0.right }
        for line in 0..<5 {
            try await world.finish { await here.requests.send(Log(line: line), strategy: .latestOnly) }
            await world.run(for: .seconds(1))
            _ = try await world.finish {
                try await here.requests.send(Add(left: 1, right: line), strategy: .latestOnly)
            }
        }
        await world.run(for: .seconds(2))
        let left = ["Log", "Add"].compactMap { type in
            there.connection.transport.latestPeerSnapshot(
                featureID: ContextFeature(requester: "phone", type: type).featureID)
        }
        #expect(left.count == 2)
        let used = try left.filter { try $0.decodeState(as: RequestMessage.self).kind != "none" }
        #expect(complaint(keys: used.count) == nil)
        var faulty = FaultyInbox()
        for _ in 0..<5 { faulty.receiveContext(UUID(), isFireAndForget: true) }
        #expect(complaint(keys: faulty.contextKeys.count) != nil)
    }

    @Test func `W3 a context request runs once, however often the context arrives`() async throws {
        let world = World(seed: 13)
        let store = MemoryStore()
        let here = try world.device(phone)
        var there = try world.device(watch, store: store)
        await world.meet(here, there)
        let done = Done()
        let sender = RequestSender(connection: here.connection)
        let request = try request(.latest, in: world, line: 7)
        for launch in 0..<3 {
            if launch > 0 {
                world.network.crash(watch)
                there = try world.device(watch, store: store)
                await world.meet(there)
            }
            there.requests.register(Log.self) {
                done.note($0.line)
                return VoidResponse()
            }
            for _ in 0..<3 {
                _ = try await world.finish { try await sender.publish(request, to: nil) }
                await world.run(for: .seconds(1))
            }
        }
        #expect(complaint(expected: [7], handled: done.all) == nil)
        var faulty = FaultyInbox()
        for _ in 0..<3 { faulty.receive(7) }
        #expect(complaint(expected: [7], handled: faulty.handled) != nil)
    }

    @Test func `W4 a live copy and a queued copy run once, and both are answered`() async throws {
        let world = World(seed: 14)
        let (here, there) = try await world.pair()
        let done = Done()
        there.requests.register(Log.self) {
            done.note($0.line)
            return VoidResponse()
        }
        let sender = RequestSender(connection: here.connection)
        var live = try request(.live, in: world, line: 4)
        live.isFireAndForget = false
        var queued = live
        queued.method = .queue
        let (first, second) = (live, queued)
        try await world.finish {
            try await sender.send(first, mode: .realtimeBestEffort, to: watch)
            try await sender.send(second, mode: .reliableEventually, to: watch)
        }
        await world.run { here.requests.ignoredReplyCount >= 1 }
        await world.run(for: .seconds(1))
        #expect(complaint(expected: [4], handled: done.all) == nil)
        var faulty = FaultyInbox()
        faulty.receive(4)
        faulty.receive(4)
        #expect(complaint(expected: [4], handled: faulty.handled) != nil)
    }

    @Test func `W4 a live copy whose answer is lost is followed by a queued copy, and one runs`() async throws {
        let world = World(seed: 15)
        let (here, there) = try await world.pair()
        let done = Done()
        there.requests.register(Add.self) {
            done.note($0.left)
            return $0.left + $0.right
        }
        // The route back is cut: the request arrives, and the sender doesn't learn of it.
        world.network.partition(from: watch, to: phone)
        let pending = Pending { try await here.requests.send(Add(left: 1, right: 1)) }
        await world.run(for: .seconds(4))
        world.network.heal()
        #expect(try await world.finish(pending) == 2)
        #expect(complaint(expected: [1], handled: done.all) == nil)
        #expect(here.events.all.contains(.fallbackUsed(from: .live, to: .queue)))
    }

    @Test func `W4 a queued copy overtaken by the answer is withdrawn`() async throws {
        let world = World(seed: 15)
        let here = try world.device(phone, lanes: ScenarioLanes.datagrams)
        let there = try world.device(watch, lanes: ScenarioLanes.datagrams)
        await world.meet(here, there)
        let pauses = Requester(there.connection)
        there.requests.register(Add.self) {
            try await pauses.pause(.seconds(4))
            return $0.left + $0.right
        }
        let pending = Pending { try await here.requests.send(Add(left: 1, right: 1)) }
        await world.run { there.events.all.contains(.messageReceived(requestType: "Add")) }
        // The live copy has arrived. The queued one, sent for lack of a sign, never gets through.
        world.network.partition(from: phone, to: watch)
        #expect(try await world.finish(pending) == 2)
        #expect(here.events.all.contains(.fallbackUsed(from: .live, to: .queue)))
        world.network.heal()
        await world.run(for: .seconds(10))
        // The queued copy would have been answered too.
        #expect(here.requests.ignoredReplyCount == 0)
    }

    @Test(arguments: [DeliveryStrategy.queueOnly, .latestOnly, .liveOnly, .liveThenQueue])
    func `W5 a request that timed out isn't run when the peer returns`(strategy: DeliveryStrategy) async throws {
        let world = World(seed: 16)
        let (here, there) = try await world.pair()
        let done = Done()
        there.requests.register(Add.self) {
            done.note($0.left)
            return 0
        }
        world.network.partition([phone], [watch])
        await world.run { !here.requests.isReachable() }
        await #expect(throws: ConnectionError.timeout) {
            _ = try await world.finish { try await here.requests.send(Add(left: 5, right: 5), strategy: strategy) }
        }
        world.network.heal()
        await world.run(for: .seconds(20))
        #expect(complaint(expected: [], handled: done.all) == nil)
        #expect(here.events.all.contains(.requestExpired(requestType: "Add")))
        var faulty = FaultyInbox()
        faulty.receive(5)
        #expect(complaint(expected: [], handled: faulty.handled) != nil)
    }

    @Test func `W5 the receiver rejects and reports a copy that the platform delivers too late`() async throws {
        let world = World(seed: 17)
        let (here, there) = try await world.pair()
        let done = Done()
        there.requests.register(Log.self) {
            done.note($0.line)
            return VoidResponse()
        }
        var late = try request(.queue, in: world, line: 5)
        late.expiresAt = world.network.now.millisecondsSince1970 - 1
        let message = late
        let sender = RequestSender(connection: here.connection)
        _ = try await world.finish { try await sender.send(message, mode: .reliableEventually, to: watch) }
        await world.run { there.events.all.contains(.requestExpired(requestType: "Log")) }
        #expect(complaint(expected: [], handled: done.all) == nil)
    }

    @Test(arguments: [-600, -30, 30, 600], DeliveryStrategy.allCases)
    func `W5 different clocks don't make a request too late`(ahead: Int, strategy: DeliveryStrategy) async throws {
        let world = World(seed: 18)
        world.network.setClockOffset(.seconds(ahead), of: watch)
        let (here, there) = try await world.pair()
        there.requests.register(Add.self) { $0.left + $0.right }
        for left in 0..<3 {
            let sum = try await world.finish {
                try await here.requests.send(Add(left: left, right: 1), strategy: strategy)
            }
            #expect(sum == left + 1)
        }
        // The sender learns the difference from the first answer.
        #expect(there.events.all.count { $0 == .requestExpired(requestType: "Add") } <= 1)
    }

    @Test(arguments: [-3_600, 3_600], [phone, watch])
    func `setting a clock while the apps run makes no request late`(ahead: Int, setter: SessionPeer) async throws {
        let world = World(seed: 18)
        let (here, there) = try await world.pair()
        there.requests.register(Add.self) { $0.left + $0.right }
        for left in 0..<2 {
            let sum = try await world.finish {
                try await here.requests.send(Add(left: left, right: 1), strategy: .liveOnly)
            }
            #expect(sum == left + 1)
            world.network.setClockOffset(.seconds(ahead), of: setter)
        }
        #expect(!there.events.all.contains(.requestExpired(requestType: "Add")))
    }

    @Test func `A request without a stamp isn't rejected because of a day-old request`() async throws {
        let world = World(seed: 20)
        let (here, there) = try await world.pair()
        let done = Done()
        there.requests.register(Log.self) {
            done.note($0.line)
            return VoidResponse()
        }
        let sender = RequestSender(connection: here.connection)
        for line in 0..<4 {
            var message = try request(.queue, in: world, line: line)
            message.stamp = nil
            let unstamped = message
            _ = try await world.finish { try await sender.send(unstamped, mode: .reliableEventually, to: watch) }
            await world.run { done.all == Array(0...line) }
            // By the next request, this one is too old to be remembered.
            world.network.advance(by: .seconds(100_000))
        }
    }

    @Test func `W9 queued requests are handled in the order sent`() async throws {
        func complaint(_ handled: [Int], sent: Int) -> String? {
            handled == Array(0..<sent) ? nil : "handled as \(handled)"
        }
        let world = World(seed: 19)
        let (here, there) = try await world.pair()
        let done = Done()
        let pauses = Requester(there.connection)
        there.requests.register(Log.self) { log in
            // The first ones take longest.
            try await pauses.pause(.milliseconds(10 * (20 - log.line)))
            done.note(log.line)
            return VoidResponse()
        }
        world.network.partition([phone], [watch])
        await world.run { !here.requests.isReachable() }
        for line in 0..<20 {
            try await world.finish { await here.requests.send(Log(line: line), strategy: .queueOnly) }
        }
        world.network.heal()
        await world.run { done.all.count == 20 }
        #expect(complaint(done.all, sent: 20) == nil)
        var faulty = FaultyInbox()
        for line in 0..<20 { faulty.receiveQueued(line, takes: 20 - line) }
        faulty.settle()
        #expect(complaint(faulty.handled, sent: 20) != nil)
    }

    private func request(_ method: DeliveryMethod, in world: World, line: Int) throws -> RequestMessage {
        var message = RequestMessage(
            .request, id: UUID(), type: Log.requestType, body: try JSONEncoder().encode(Log(line: line)))
        message.method = method
        message.isFireAndForget = true
        message.stamp = HybridTimestamp(milliseconds: world.network.now.millisecondsSince1970)
        return message
    }
}
