import Foundation
import MeshBase
import MeshConnection
import MeshIdentity
import MeshScenarioTransport
import MeshTransport
import Testing

@testable import MeshRequests

/// Messages that a hostile peer, or a peer of another version, may send.
@Suite struct HostilityTests {
    private func isIncompatible(_ event: DiagnosticEvent) -> Bool {
        if case .deliveryFailed(_, .incompatiblePeer, _) = event { true } else { false }
    }

    @Test func `The caller gets incompatiblePeer for a later version's answer`() async throws {
        let world = World(seed: 71)
        let (here, there) = try await world.pair()
        let pending = Pending { try await here.requests.send(Find(name: "a"), strategy: .liveOnly, to: watch) }
        await world.run { !here.requests.underWay.isEmpty }
        var reply = RequestMessage(.answer, id: try #require(here.requests.underWay.first), type: "Find")
        reply.version = 9
        let message = reply
        let sender = RequestSender(connection: there.connection)
        _ = try await world.finish { try await sender.send(message, mode: .reliableEventually, to: phone) }
        await #expect(
            throws: ConnectionError.incompatiblePeer(
                reason: "the message has version 9, and the receiver reads up to 1")
        ) {
            _ = try await world.finish(pending)
        }
    }

    @Test func `A fire-and-forget request rejected while its sender waits is reported as a failure`()
        async throws
    {
        let world = World(seed: 75)
        let here = try world.device(phone)
        let there = TransportConnection(
            transport: world.network.makeTransport(localPeer: watch),
            clock: world.network.clock(of: watch))
        let sender = RequestSender(connection: there)
        let error = ConnectionError.remoteError(description: "the disk is full")
        let route = try there.route(featureID: RequestMessage.featureID) { envelope in
            guard let request = try? envelope.decodePayload(as: RequestMessage.self) else { return }
            var answer = RequestMessage.failure(error, id: request.id, type: request.type)
            answer.isFireAndForget = true
            try? await sender.send(answer, mode: .reliableEventually, to: phone)
        }
        await world.run { here.requests.isReachable() }
        try await world.finish { await here.requests.send(Log(line: 1), strategy: .liveOnly) }
        let failure = DiagnosticEvent.deliveryFailed(requestType: "Log", error: error, willRetry: false)
        await world.run(within: .seconds(5)) { here.events.all.contains(failure) }
        #expect(!here.events.all.contains { if case .messageSent = $0 { true } else { false } })
        withExtendedLifetime(route) {}
    }

    @Test func `An overlong name and an unknown kind are reported`() async throws {
        let world = World(seed: 72)
        let (here, there) = try await world.pair()
        let sender = RequestSender(connection: here.connection)
        let long = RequestMessage(.request, id: UUID(), type: String(repeating: "x", count: 513))
        let data = try JSONEncoder().encode(RequestMessage(.echo, id: UUID(), type: "Add"))
        let text = String(decoding: data, as: UTF8.self).replacingOccurrences(of: "echo", with: "dance")
        let unknown = try JSONDecoder().decode(RequestMessage.self, from: Data(text.utf8))
        _ = try await world.finish {
            try await sender.send(long, mode: .reliableEventually, to: watch)
            try await sender.send(unknown, mode: .reliableEventually, to: watch)
        }
        await world.run { there.events.all.count(where: isIncompatible) == 2 }
    }

    @Test func `A request repeatedly rejected as late is sent again at most three times`() async throws {
        let world = World(seed: 73)
        let transport = StubbornTransport(world.network.makeTransport(localPeer: phone))
        let here = try Device(phone, transport, store: nil, clock: world.network.clock)
        let there = try world.device(watch)
        await world.meet(here, there)
        // The peer has no handler. It reports this after two seconds.
        let pending = Pending {
            try await here.requests.send(Add(left: 1, right: 1), strategy: .queueOnly, to: watch)
        }
        await world.run { there.events.all.contains(.messageReceived(requestType: "Add")) }
        var late = RequestMessage(.late, id: try #require(here.requests.underWay.first), type: "Add")
        late.clock = .max
        late.method = .queue
        let message = late
        let sender = RequestSender(connection: there.connection)
        try await world.finish {
            for _ in 0..<50 { try await sender.send(message, mode: .reliableEventually, to: phone) }
        }
        await #expect(throws: ConnectionError.handlerNotRegistered(requestType: "Add")) {
            _ = try await world.finish(pending)
        }
        #expect(transport.sendCount <= 4)
    }

    @Test func `Requests beyond the maximum at once are dropped, and their senders retry`() async throws {
        let world = World(seed: 74)
        let (here, there) = try await world.pair()
        let mayEnd = AsyncValue<Bool>()
        there.requests.register(Add.self) { add in
            _ = await mayEnd.value()
            return add.left
        }
        let calls = (0...Responder.liveMax).map { left in
            Pending {
                try await here.requests.send(
                    Add(left: left, right: 0), strategy: .liveOnly, retryPolicy: .patient)
            }
        }
        let tooMany = ConnectionError.deliveryFailed(reason: "too many requests are being handled")
        await world.run {
            there.events.all.contains { if case .deliveryFailed(_, tooMany, _) = $0 { true } else { false } }
        }
        mayEnd.resolve(true)
        for (left, call) in calls.enumerated() { #expect(try await world.finish(call) == left) }
    }

    @Test func `A second copy of a waiting request isn't rejected for lack of space`() async throws {
        let world = World(seed: 76)
        let (here, there) = try await world.pair()
        let mayEnd = AsyncValue<Bool>()
        there.requests.register(Log.self) { _ in
            _ = await mayEnd.value()
            return VoidResponse()
        }
        let sender = RequestSender(connection: here.connection)
        func send(_ ids: [UUID]) async throws {
            try await world.finish {
                for id in ids {
                    var message = RequestMessage(.request, id: id, type: "Log", body: Data(#"{"line":1}"#.utf8))
                    message.method = .queue
                    message.stamp = here.connection.stamp()
                    try await sender.send(message, mode: .reliableEventually, to: watch)
                }
            }
        }
        // One runs, the others wait.
        let ids = (0...Responder.waitingMax).map { _ in UUID() }
        try await send(ids)
        await world.run { there.events.all.count { $0 == .messageReceived(requestType: "Log") } == ids.count }
        try await send([ids[0], ids[1], UUID()])
        await world.run { here.requests.ignoredReplyCount > 0 }
        await world.run(for: .seconds(1))
        // The last one is rejected. This device doesn't have such a request, so it ignores the reply.
        #expect(here.requests.ignoredReplyCount == 1)
        mayEnd.resolve(true)
    }

    @Test func `A slot under another peer's name isn't run as a request`() async throws {
        let world = World(seed: 77)
        let (here, there) = try await world.pair()
        let done = Done()
        there.requests.register(Log.self) {
            done.note($0.line)
            return VoidResponse()
        }
        let names = [
            ContextFeature(requester: "tablet", type: "Log"), ContextFeature(requester: "phone", type: "Add"),
            ContextFeature(requester: "phone", type: "Log"),
        ]
        for (line, name) in names.enumerated() {
            var message = RequestMessage(.request, id: UUID(), type: "Log", body: Data(#"{"line":\#(line)}"#.utf8))
            message.method = .latest
            message.isFireAndForget = true
            let stamp = here.connection.stamp()
            let metadata = SessionSyncMetadata(
                sessionID: here.connection.sessionID, featureID: name.featureID, sourcePeerID: "phone", sequence: 0,
                causalTimestamp: here.connection.clock.wall, payloadType: RequestMessage.payloadType, stamp: stamp)
            let snapshot = try AnySessionSyncSnapshot(
                SessionSyncSnapshot(
                    metadata: metadata, revision: stamp.rawValue, state: message, peerSequenceVector: [:]))
            try await world.finish {
                try await here.connection.transport.sendSnapshot(snapshot, mode: .latestSnapshot, to: watch)
            }
        }
        await world.run { done.all.contains(2) }
        await world.run(for: .seconds(2))
        #expect(done.all == [2])
        #expect(there.events.all.count(where: isIncompatible) == 2)
    }

    @Test func `The sender of a fire-and-forget request that found no space gets an error`() async throws {
        let world = World(seed: 78)
        let (here, there) = try await world.pair()
        let mayEnd = AsyncValue<Bool>()
        let done = Done()
        there.requests.register(Log.self) {
            _ = await mayEnd.value()
            done.note($0.line)
            return VoidResponse()
        }
        // One runs, the maximum number waits, and three too many arrive.
        let count = Responder.waitingMax + 4
        try await world.finish {
            for line in 0..<count { await here.requests.send(Log(line: line), strategy: .queueOnly, to: watch) }
        }
        let tooMany = DiagnosticEvent.deliveryFailed(
            requestType: "Log", error: .deliveryFailed(reason: "too many requests are being handled"),
            willRetry: false)
        await world.run { here.events.all.count { $0 == tooMany } == 3 }
        mayEnd.resolve(true)
        await world.run { done.all.count == count - 3 }
        #expect(here.requests.ignoredReplyCount == 0)
    }

    @Test func `A slot is cleared once all its peers have the request`() async throws {
        let world = World(seed: 75)
        let (here, there) = try await world.pair()
        let other = try world.device(tablet)
        await world.run { here.requests.isReachable(tablet) }
        let done = Done()
        for device in [there, other] {
            device.requests.register(Log.self) {
                done.note($0.line)
                return VoidResponse()
            }
        }
        world.network.partition([phone], [tablet])
        await world.run { !here.requests.isReachable(tablet) }
        try await world.finish { await here.requests.send(Log(line: 1), strategy: .latestOnly) }
        await world.run { done.all == [1] }
        await world.run(for: .seconds(2))
        world.network.heal()
        await world.run { done.all == [1, 1] }
        await world.run(for: .seconds(2))
        let feature = ContextFeature(requester: "phone", type: "Log").featureID
        for device in [there, other] {
            let left = try #require(device.connection.transport.latestPeerSnapshot(featureID: feature))
            #expect(try left.decodeState(as: RequestMessage.self).kind == "none")
        }
    }
}
