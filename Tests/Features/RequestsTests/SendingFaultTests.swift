import Foundation
import MeshBase
import MeshConnection
import MeshIdentity
import MeshScenarioTransport
import MeshTransport
import Testing

@testable import MeshRequests

/// Faults of the references on the requesting side.
@Suite struct SendingFaultTests {
    typealias Outcome = FaultyCaller.Outcome

    private func outcome<Value: Sendable>(
        in world: World, _ pending: Pending<Value>, startedAt: Duration
    ) async -> Outcome {
        do {
            return .answered("\(try await world.finish(pending))")
        } catch {
            return .failed(
                ConnectionError(error), afterMilliseconds: Int((world.network.elapsed - startedAt).milliseconds))
        }
    }

    private func complaint(_ outcome: Outcome, expected: Outcome) -> String? {
        outcome == expected ? nil : "\(outcome) instead of \(expected)"
    }

    @Test(arguments: DeliveryStrategy.allCases)
    func `W6 a reply reaches a requester that was away`(strategy: DeliveryStrategy) async throws {
        let world = World(seed: 21)
        let (here, there) = try await world.pair()
        let (began, mayEnd) = (AsyncValue<Bool>(), AsyncValue<Bool>())
        there.requests.register(Add.self) { _ in
            began.resolve(true)
            _ = await mayEnd.value()
            return 6
        }
        let startedAt = world.network.elapsed
        let pending = Pending { try await here.requests.send(Add(left: 3, right: 3), strategy: strategy) }
        await world.run { began.isResolved }
        world.network.partition([phone], [watch])
        await world.run { !there.requests.isReachable() }
        mayEnd.resolve(true)
        await world.run(for: .seconds(1))
        world.network.heal()
        let ours = await outcome(in: world, pending, startedAt: startedAt)
        #expect(complaint(ours, expected: .answered("6")) == nil)
        let faulty = FaultyCaller.replyAfterAbsence(timeoutMilliseconds: 10_000)
        #expect(complaint(faulty, expected: .answered("6")) != nil)
    }

    @Test func `W7 a late reply during a flush is dropped`() async throws {
        func complaint(_ outcome: Outcome) -> String? { outcome == .crashed ? "crashed" : nil }
        let world = World(seed: 22)
        let (here, there) = try await world.pair()
        there.requests.register(Find.self) { $0.name }
        world.network.partition([phone], [watch])
        await world.run { !here.requests.isReachable() }
        let calls = (0..<10).map { number in
            Pending { try await here.requests.send(Find(name: "\(number)"), strategy: .liveOnly) }
        }
        await world.run { here.requests.pendingRequestCount == 10 }
        // Half of them are canceled while the others are flushed. Replies to all of them arrive, some twice.
        let router = RequestSender(connection: there.connection)
        let ids = here.requests.queuedRequests.map(\.id)
        world.network.heal()
        for (index, id) in ids.enumerated() where index.isMultiple(of: 2) { here.requests.cancelQueuedRequest(id: id) }
        await world.run { there.requests.isReachable() }
        try await world.finish {
            for id in ids {
                let reply = RequestMessage(.answer, id: id, type: "Find", body: Data("\"late\"".utf8))
                try await router.send(reply, mode: .reliableEventually, to: phone)
                try await router.send(reply, mode: .reliableEventually, to: phone)
            }
        }
        var cancelledCount = 0
        for (index, call) in calls.enumerated() {
            let result = await outcome(in: world, call, startedAt: .zero)
            #expect(complaint(result) == nil)
            switch result {
            case .failed(.cancelled, _): cancelledCount += 1
            case .answered(let text): #expect([String(index), "late"].contains(text))
            default: Issue.record("\(index): \(result)")
            }
        }
        #expect(cancelledCount == 5)
        await world.run { here.requests.ignoredReplyCount >= 10 }
        #expect(here.requests.pendingRequestCount == 0)
        #expect(complaint(FaultyCaller.flush([ids[0]], replyDuringWait: ids[0])) != nil)
    }

    @Test func `W22 a queued request waits until the peer comes`() async throws {
        let world = World(seed: 23)
        let (here, there) = try await world.pair()
        there.requests.register(Add.self) { $0.left + $0.right }
        world.network.partition([phone], [watch])
        await world.run { !here.requests.isReachable() }
        let startedAt = world.network.elapsed
        let pending = Pending {
            try await here.requests.send(Add(left: 1, right: 2), strategy: .liveOnly, delivery: .queued)
        }
        await world.run(for: .seconds(5))
        #expect(here.requests.pendingRequestCount == 1)
        world.network.heal()
        let ours = await outcome(in: world, pending, startedAt: startedAt)
        #expect(complaint(ours, expected: .answered("3")) == nil)
        #expect(here.requests.pendingRequestCount == 0)
        #expect(here.events.all.contains(.requestQueued(requestType: "Add", queueSize: 1)))
        #expect(here.events.all.contains(.queueFlushed(count: 1)))
        let faulty = FaultyCaller.queuedWhileAway(attempts: 3, reachableAfterMilliseconds: 5000)
        #expect(complaint(faulty, expected: .answered("3")) != nil)
    }

    @Test func `W22 an immediate request doesn't wait, and a queued one waits until its timeout`() async throws {
        let world = World(seed: 24)
        let (here, _) = try await world.pair()
        world.network.partition([phone], [watch])
        await world.run { !here.requests.isReachable() }
        for strategy in DeliveryStrategy.allCases {
            let startedAt = world.network.elapsed
            await #expect(throws: ConnectionError.notReachable) {
                try await here.requests.send(Add(left: 1, right: 2), strategy: strategy, delivery: .immediate)
            }
            #expect(world.network.elapsed == startedAt)
        }
        let startedAt = world.network.elapsed
        let pending = Pending {
            try await here.requests.send(
                Add(left: 1, right: 2), strategy: .liveOnly, retryPolicy: RetryPolicy(maxAttempts: 1))
        }
        let ours = await outcome(in: world, pending, startedAt: startedAt)
        guard case .failed(.timeout, let after) = ours else {
            Issue.record("\(ours)")
            return
        }
        #expect((10_000...10_200).contains(after))
    }

    @Test(arguments: DeliveryStrategy.allCases)
    func `W23 a cancelled caller returns at once, and nothing is sent later`(strategy: DeliveryStrategy) async throws {
        let world = World(seed: 25)
        let (here, there) = try await world.pair()
        let done = Done()
        there.requests.register(Add.self) {
            done.note($0.left)
            return 0
        }
        world.network.partition([phone], [watch])
        await world.run { !here.requests.isReachable() }
        let pending = Pending { try await here.requests.send(Add(left: 1, right: 2), strategy: strategy) }
        await world.run { here.requests.pendingRequestCount == 1 }
        await world.run(for: .milliseconds(200))
        let cancelledAt = world.network.elapsed
        pending.task.cancel()
        let ours = await outcome(in: world, pending, startedAt: cancelledAt)
        func isAtOnce(_ outcome: Outcome) -> Bool {
            if case .failed(.cancelled, let after) = outcome { after <= 100 } else { false }
        }
        #expect(isAtOnce(ours), "\(ours)")
        #expect(here.requests.pendingRequestCount == 0)
        world.network.heal()
        await world.run(for: .seconds(5))
        #expect(done.all.isEmpty)
        #expect(!isAtOnce(FaultyCaller.cancelled(afterMilliseconds: 0, timeoutMilliseconds: 10_000)))
    }

    @Test func `W25 a reply must be the asked peer's, to that request and of its type`() async throws {
        let world = World(seed: 26)
        let (here, there) = try await world.pair()
        let other = try world.device(tablet)
        await world.run { here.requests.isReachable(tablet) }
        there.requests.register(Find.self) { _ in
            // Answers only after the other messages have arrived.
            try await Requester(there.connection).pause(.seconds(2))
            return "mine"
        }
        let startedAt = world.network.elapsed
        let pending = Pending { try await here.requests.send(Find(name: "a"), strategy: .liveOnly, to: watch) }
        await world.run { there.events.all.contains(.messageReceived(requestType: "Find")) }
        let id = try #require(here.requests.underWay.first)
        let foreign = RequestMessage(.answer, id: id, type: "Find", body: Data("\"foreign\"".utf8))
        let otherType = RequestMessage(.answer, id: id, type: "Add", body: Data("\"type\"".utf8))
        let otherID = RequestMessage(.answer, id: UUID(), type: "Find", body: Data("\"id\"".utf8))
        try await world.finish {
            let (liar, friend) = (
                RequestSender(connection: other.connection), RequestSender(connection: there.connection)
            )
            try await liar.send(foreign, mode: .reliableEventually, to: phone)
            try await friend.send(otherType, mode: .reliableEventually, to: phone)
            try await friend.send(otherID, mode: .reliableEventually, to: phone)
        }
        await world.run { here.requests.ignoredReplyCount == 3 }
        let ours = await outcome(in: world, pending, startedAt: startedAt)
        #expect(complaint(ours, expected: .answered("mine")) == nil)
        let reports = here.events.all.count {
            if case .deliveryFailed(_, .replyFailed, willRetry: false) = $0 { true } else { false }
        }
        #expect(reports == 3)
        let faulty = FaultyCaller.take("foreign", of: UUID(), asked: id)
        #expect(complaint(faulty, expected: .answered("mine")) != nil)
    }

    @Test func `W25 errors arrive unchanged`() async throws {
        let world = World(seed: 27)
        let (here, there) = try await world.pair()
        there.requests.register(Find.self) { request in
            switch request.name {
            case "typed": throw NotFound(name: "typed")
            case "ours": throw ConnectionError.insufficientSpace
            case "unlisted": throw Unlisted()
            default: return request.name
            }
        }
        func thrown(_ name: String) async -> (any Error)? {
            do {
                _ = try await world.finish { try await here.requests.send(Find(name: name)) }
                return nil
            } catch {
                return error
            }
        }
        #expect(await thrown("typed") as? NotFound == NotFound(name: "typed"))
        #expect(await thrown("ours") as? ConnectionError == .insufficientSpace)
        #expect(await thrown("unlisted") as? ConnectionError == .handlerError(description: "Unlisted()"))
        await #expect(throws: ConnectionError.handlerNotRegistered(requestType: "Add")) {
            _ = try await world.finish { try await here.requests.send(Add(left: 1, right: 1)) }
        }
    }

    @Test func `W25 bytes that are no request or no response are typed errors`() async throws {
        let world = World(seed: 28)
        let (here, there) = try await world.pair()
        there.requests.register(Misread.self) { $0.flag }
        there.requests.register(Unwritable.self) { _ in .infinity }
        func thrown(_ body: @escaping @Sendable () async throws -> Void) async -> ConnectionError? {
            do { try await world.finish(body) } catch { return error as? ConnectionError }
            return nil
        }
        guard case .decodingFailed = await thrown({ _ = try await here.requests.send(Miswritten(flag: "no")) }) else {
            Issue.record("no decodingFailed")
            return
        }
        guard case .encodingFailed = await thrown({ _ = try await here.requests.send(Unwritable(value: 1)) }) else {
            Issue.record("no encodingFailed")
            return
        }
        #expect(there.events.all.contains(.requestEncodingFailed(requestType: "Flag")))
        #expect(there.events.all.contains(.requestEncodingFailed(requestType: "Unwritable")))
        guard case .encodingFailed = await thrown({ _ = try await here.requests.send(Unwritable(value: .nan)) }) else {
            Issue.record("no encodingFailed here")
            return
        }
        #expect(here.events.all.contains(.requestEncodingFailed(requestType: "Unwritable")))
    }

    #if DEBUG
        @Test func `a request and a reply that lose a field when encoded are named in debug builds`() async throws {
            let world = World(seed: 202_611_261_543)
            let (here, there) = try await world.pair()
            there.requests.register(Lossy.self) { request in Lossy.Reply(number: request.number) }
            let reply = try await world.finish { try await here.requests.send(Lossy(number: 1, hint: "lost")) }
            #expect(reply == Lossy.Reply(number: 1, hint: "decoded"), "what the bytes say")
            #expect(here.events.all.contains(.requestEncodingFailed(requestType: "Lossy")))
            #expect(there.events.all.contains(.requestEncodingFailed(requestType: "Lossy")))
        }
    #endif

    @Test func `W27 an oversized request or reply is rejected before it waits`() async throws {
        let world = World(seed: 29)
        // A small limit, so that encoding takes little time: virtual time advances meanwhile.
        var configuration = DeliveryConfiguration()
        configuration.payloadLimit = PayloadLimit(id: "test", bytes: 16_384, summary: "", source: "chosen")
        let here = try world.device(phone, configuration: configuration)
        let there = try world.device(watch, configuration: configuration)
        await world.meet(here, there)
        let limit = try #require(here.connection.transport.capabilities.maximumPayloadSize)
        there.requests.register(Find.self) { String(repeating: "x", count: Int($0.name) ?? 0) }
        world.network.partition([phone], [watch])
        await world.run { !here.requests.isReachable() }
        func limitID(_ outcome: Outcome) -> String? {
            if case .failed(.payloadTooLarge(_, limit, let id), 0) = outcome { id } else { nil }
        }
        for strategy in DeliveryStrategy.allCases {
            let large = String(repeating: "x", count: limit)
            let pending = Pending { try await here.requests.send(Find(name: large), strategy: strategy) }
            let ours = await outcome(in: world, pending, startedAt: world.network.elapsed + .milliseconds(10))
            guard case .failed(.payloadTooLarge(let bytes, limit, _), _) = ours else {
                Issue.record("\(strategy): \(ours)")
                continue
            }
            #expect(bytes > limit)
        }
        #expect(limitID(FaultyCaller.send(bytes: limit + 1, limit: limit, timeoutMilliseconds: 10_000)) == nil)
        world.network.heal()
        await world.run { here.requests.isReachable() }
        let pending = Pending { try await here.requests.send(Find(name: "\(limit)")) }
        let reply = await outcome(in: world, pending, startedAt: world.network.elapsed)
        guard case .failed(.payloadTooLarge(_, limit, _), _) = reply else {
            Issue.record("\(reply)")
            return
        }
        let fitting = Pending { try await here.requests.send(Find(name: "\(limit - 1000)")) }
        guard case .answered(let text) = await outcome(in: world, fitting, startedAt: .zero) else {
            Issue.record("requests that fit weren't answered")
            return
        }
        #expect(text.count == limit - 1000)
    }

    @Test func `W27 a later version and bytes of something else are incompatible peers`() async throws {
        let world = World(seed: 30)
        let (here, there) = try await world.pair()
        there.requests.register(Log.self) { _ in VoidResponse() }
        var later = RequestMessage(.request, id: UUID(), type: "Log", body: Data())
        later.version = 2
        let message = later
        let sender = RequestSender(connection: here.connection)
        _ = try await world.finish { try await sender.send(message, mode: .reliableEventually, to: watch) }
        func isIncompatible(_ event: DiagnosticEvent) -> Bool {
            if case .deliveryFailed(_, .incompatiblePeer, _) = event { true } else { false }
        }
        await world.run { there.events.all.contains(where: isIncompatible) }
        // The peer is notified too.
        await world.run { here.requests.ignoredReplyCount == 1 }
        let before = there.events.all.count(where: isIncompatible)
        let metadata = SessionSyncMetadata(
            sessionID: here.connection.sessionID, featureID: RequestMessage.featureID, sourcePeerID: "phone",
            sequence: 0, causalTimestamp: world.network.now, payloadType: "something.else")
        let envelope = try AnySessionSyncEnvelope(SessionSyncEnvelope(metadata: metadata, payload: ["a": 1]))
        try await world.finish {
            try await here.connection.transport.send(envelope, mode: .reliableEventually, to: watch)
        }
        await world.run { there.events.all.count(where: isIncompatible) == before + 1 }
    }
}

private struct Miswritten: SessionRequest {
    typealias Response = Bool
    static let requestType = "Flag"
    let flag: String
}

private struct Misread: SessionRequest {
    typealias Response = Bool
    static let requestType = "Flag"
    let flag: Bool
}

private struct Unwritable: SessionRequest {
    typealias Response = Double
    let value: Double
}

/// A request and a reply that don't encode their hint.
private struct Lossy: SessionRequest {
    enum CodingKeys: CodingKey { case number }

    struct Reply: Codable, Sendable, Equatable {
        enum CodingKeys: CodingKey { case number }
        var number: Int
        var hint = "decoded"

        init(number: Int, hint: String = "made here") { (self.number, self.hint) = (number, hint) }
        init(from decoder: any Decoder) throws {
            number = try decoder.container(keyedBy: CodingKeys.self).decode(Int.self, forKey: .number)
        }
    }
    typealias Response = Reply

    var number: Int
    var hint = ""
}
