import Foundation
import MeshConnection
import MeshIdentity
import MeshScenarioTransport
import MeshTransport
import Testing

@testable import MeshRequests

@Suite struct ProblemTests {
    @Test func `A second SessionRequests on a connection is the same, and the last handler answers`() async throws {
        let world = World(seed: 14)
        let (here, there) = try await world.pair()
        let again = try SessionRequests(connection: there.connection)
        let line = #line + 1
        there.requests.register(Add.self) { $0.left + $0.right }
        #expect(try await world.finish { try await here.requests.send(Add(left: 1, right: 2)) } == 3)
        #expect(again.problems.isEmpty)
        again.register(Add.self) { $0.left * $0.right }
        #expect(try await world.finish { try await here.requests.send(Add(left: 2, right: 2)) } == 4)
        #expect(try await world.finish { try await here.requests.send(Add(left: 3, right: 2)) } == 6)
        #expect(there.requests.problems.map(\.code) == [.handlerReplaced])
        let message = try #require(there.requests.problems.first?.message)
        #expect(
            message.hasPrefix("the handler of Add from MeshRequestsTests/ProblemTests.swift:\(line) was replaced at"))
    }

    @Test func `A view that appears again registers its handler again`() async throws {
        let world = World(seed: 15)
        let (here, there) = try await world.pair()
        for factor in 1...2 {
            try SessionRequests(connection: there.connection).register(Add.self) { factor * ($0.left + $0.right) }
        }
        #expect(try await world.finish { try await here.requests.send(Add(left: 1, right: 2)) } == 6)
        #expect(there.requests.problems.isEmpty)
    }

    @Test func `An app that already receives request messages itself gets a thrown error`() async throws {
        let world = World(seed: 16)
        let transport = world.network.makeTransport(localPeer: phone)
        let connection = TransportConnection(transport: transport, clock: world.network.clock(of: phone))
        let route = try connection.route(featureID: "sessionmesh.requests") { _ in }
        #expect(throws: ConnectionError.idInUse(id: "sessionmesh.requests")) {
            try SessionRequests(connection: connection)
        }
        let requests = SessionRequests(over: transport)
        #expect(requests.problems.map(\.code) == [.idInUse])
        withExtendedLifetime(route) {}
    }

    @Test func `Requests over a transport need no connection, and share an existing one`() async throws {
        let world = World(seed: 17)
        let (transport, other) = (
            world.network.makeTransport(localPeer: phone), world.network.makeTransport(localPeer: watch)
        )
        let connections = [(phone, transport), (watch, other)].map {
            TransportConnection(transport: $0.1, clock: world.network.clock(of: $0.0))
        }
        let (here, there) = (SessionRequests(over: transport), SessionRequests(over: other))
        there.register(Add.self) { $0.left + $0.right }
        await world.run { here.isReachable() }
        #expect(try await world.finish { try await here.send(Add(left: 1, right: 2)) } == 3)
        let tablet = SessionRequests(over: world.network.makeTransport(localPeer: tablet))
        #expect(tablet.problems.isEmpty)
        withExtendedLifetime(connections) {}
    }

    @Test func `A request to a peer that the transport doesn't know fails at once and names those that it knows`()
        async throws
    {
        let world = World(seed: 18)
        let (here, _) = try await world.pair()
        let begun = world.network.elapsed
        for strategy in DeliveryStrategy.allCases {
            await #expect(
                throws: ConnectionError.deliveryFailed(
                    reason: "the transport doesn't know the peer 'tablet', only 'watch'")
            ) {
                try await here.requests.send(Add(left: 1, right: 2), strategy: strategy, to: tablet)
            }
        }
        await here.requests.send(Log(line: 1), to: tablet)
        #expect(world.network.elapsed == begun)
        #expect(here.requests.problems.map(\.code) == [.unknownPeer])
        #expect(here.requests.problems.first?.subject == "tablet")
        // Once the tablet has connected, it is known, even while it is away.
        let third = try world.device(tablet)
        third.requests.register(Add.self) { $0.left + $0.right }
        await world.run { here.requests.isReachable(tablet) && here.requests.problems.isEmpty }
        world.network.partition([phone], [tablet])
        await world.run { !here.requests.isReachable(tablet) }
        let pending = Pending { try await here.requests.send(Add(left: 1, right: 2), to: tablet) }
        await world.run(for: .seconds(3))
        #expect(!pending.isOver)
        world.network.heal()
        #expect(try await world.finish(pending) == 3)
    }

    @Test func `While no peer is known, a request waits for the first`() async throws {
        let world = World(seed: 19)
        let here = try world.device(phone)
        let pending = Pending { try await here.requests.send(Add(left: 1, right: 2), to: watch) }
        await world.run(for: .seconds(1))
        let there = try world.device(watch)
        there.requests.register(Add.self) { $0.left + $0.right }
        #expect(try await world.finish(pending) == 3)
        #expect(here.requests.problems.isEmpty)
    }

    @Test func `A fire-and-forget request without a handler is a problem on the receiver until there is one`()
        async throws
    {
        let world = World(seed: 20)
        let (here, there) = try await world.pair()
        await world.run(for: .seconds(3))
        try await world.finish { await here.requests.send(Log(line: 1)) }
        await world.run { !there.requests.problems.isEmpty }
        #expect(there.requests.problems.map(\.code) == [.handlerMissing])
        #expect(there.requests.problems.first?.message == "'phone' sent a Log, and this device has no handler for it")
        let done = Done()
        there.requests.register(Log.self) {
            done.note($0.line)
            return VoidResponse()
        }
        #expect(there.requests.problems.isEmpty)
        try await world.finish { await here.requests.send(Log(line: 2)) }
        await world.run { done.all == [2] }
        #expect(there.requests.problems.isEmpty && here.requests.problems.isEmpty)
    }

    @Test func `A fire-and-forget request that is too large is a problem, until one fits`() async throws {
        struct Note: FireAndForgetRequest { let text: String }
        let world = World(seed: 21)
        let (here, _) = try await world.pair()
        try await world.finish { await here.requests.send(Note(text: String(repeating: "x", count: 32 << 20))) }
        #expect(here.requests.problems.map(\.code) == [.valueTooLarge])
        try await world.finish { await here.requests.send(Note(text: "x")) }
        #expect(here.requests.problems.isEmpty)
    }

    @Test(arguments: DeliveryStrategy.allCases)
    func `A fire-and-forget request that can't be encoded is a problem until one of its type is sent`(
        strategy: DeliveryStrategy
    ) async throws {
        struct Reading: FireAndForgetRequest { let value: Double }
        let world = World(seed: 22)
        let (here, there) = try await world.pair()
        there.requests.register(Reading.self) { _ in VoidResponse() }
        try await world.finish { await here.requests.send(Reading(value: .infinity), strategy: strategy) }
        #expect(here.requests.problems.map(\.code) == [.sendFailed])
        try await world.finish { await here.requests.send(Reading(value: 1), strategy: strategy) }
        await world.run { here.requests.problems.isEmpty }
        await world.run {
            here.events.all.contains { if case .messageSent(Reading.requestType, _) = $0 { true } else { false } }
        }
    }
}
