import Foundation
import MeshBase
import MeshConnection
import MeshScenarioTransport
import MeshStorage
import Testing

@testable import MeshRequests

/// An app that releases its `SessionRequests` and makes others on the same connection.
@Suite struct RecreationTests {
    private struct Pair {
        let world: World
        let here: Device
        let there: TransportConnection

        init(seed: UInt64, store: (any SessionStore)?) throws {
            world = World(seed: seed)
            here = try world.device(phone)
            let transport = try world.network.makeTransport(
                localPeer: watch, lanes: ScenarioLanes.network, configuration: .init(), store: nil)
            there = TransportConnection(transport: transport, store: store, clock: world.network.clock(of: watch))
        }

        func ask(_ left: Int, _ strategy: DeliveryStrategy) -> Pending<Int> {
            Pending { [here] in
                try await here.requests.send(Add(left: left, right: 0), strategy: strategy, retryPolicy: .patient)
            }
        }
    }

    private static func stores() -> [(any SessionStore)?] { [nil, MemoryStore()] }

    @Test func `Requests that run or wait are handled once, in order`() async throws {
        for store in Self.stores() {
            let pair = try Pair(seed: 71, store: store)
            let (done, mayEnd) = (Done(), AsyncValue<Bool>())
            func make() throws -> SessionRequests {
                let requests = try SessionRequests(connection: pair.there)
                requests.register(Add.self) {
                    done.note($0.left)
                    _ = await mayEnd.value()
                    return $0.left
                }
                return requests
            }
            var requests: SessionRequests? = try make()
            await pair.world.meet(pair.here)
            var calls: [Pending<Int>] = []
            for left in 0..<3 {
                calls.append(pair.ask(left, .queueOnly))
                await pair.world.run(for: .seconds(1))
            }
            #expect(done.all == [0])
            requests = nil
            requests = try make()
            await pair.world.run(for: .seconds(1))
            mayEnd.resolve(true)
            for (left, call) in calls.enumerated() { #expect(try await pair.world.finish(call) == left) }
            #expect(done.all == [0, 1, 2])
            #expect(requests?.problems.isEmpty == true)
        }
    }

    @Test func `A second copy of a handled request gets the reply`() async throws {
        for store in Self.stores() {
            let pair = try Pair(seed: 72, store: store)
            let done = Done()
            func make() throws -> SessionRequests {
                let requests = try SessionRequests(connection: pair.there)
                requests.register(Add.self) {
                    done.note($0.left)
                    return $0.left
                }
                return requests
            }
            var requests: SessionRequests? = try make()
            await pair.world.meet(pair.here)
            pair.world.network.partition(from: watch, to: phone)
            let call = pair.ask(4, .liveOnly)
            await pair.world.run { done.all == [4] }
            await pair.world.run(for: .seconds(1))
            requests = nil
            requests = try make()
            await pair.world.run(for: .seconds(15))
            pair.world.network.heal()
            #expect(try await pair.world.finish(call) == 4)
            await pair.world.run(for: .seconds(5))
            #expect(done.all == [4])
            withExtendedLifetime(requests) {}
        }
    }

    @Test func `A type that isn't registered again has no handler`() async throws {
        let pair = try Pair(seed: 73, store: nil)
        var requests: SessionRequests? = try SessionRequests(connection: pair.there)
        let (began, mayEnd) = (AsyncValue<Bool>(), AsyncValue<Bool>())
        requests?.register(Add.self) {
            began.resolve(true)
            _ = await mayEnd.value()
            return $0.left
        }
        await pair.world.meet(pair.here)
        let running = pair.ask(1, .liveOnly)
        await pair.world.run { began.isResolved }
        requests = nil
        requests = try SessionRequests(connection: pair.there)
        let refused = pair.ask(2, .liveOnly)
        await #expect(throws: ConnectionError.handlerNotRegistered(requestType: "Add")) {
            try await pair.world.finish(refused)
        }
        mayEnd.resolve(true)
        #expect(try await pair.world.finish(running) == 1)
        withExtendedLifetime(requests) {}
    }

    @Test func `A ledger without a store doesn't keep its connection`() async throws {
        let world = World(seed: 74)
        let transport = try world.network.makeTransport(
            localPeer: watch, lanes: ScenarioLanes.network, configuration: .init(), store: nil)
        weak var released: TransportConnection?
        do {
            let connection = TransportConnection(transport: transport, clock: world.network.clock(of: watch))
            released = connection
            _ = try SessionRequests(connection: connection)
        }
        await world.run { released == nil }
    }
}
