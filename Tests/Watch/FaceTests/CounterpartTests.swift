import Foundation
import MeshBase
import MeshIdentity
import MeshStorage
import MeshTesting
import MeshTransport
import MeshWatchConnectivityTransport
import Testing

@testable import SessionMeshWatchConnectivity

@MainActor
@Suite("Detection of the counterpart")
struct CounterpartTests {
    // MARK: Peers

    @Test(arguments: [false, true])
    func `a counterpart with old frames isn't a peer of shared states`(isAsked: Bool) async throws {
        let fleet = Fleet(remembers: true)
        try fleet.launchNew(.phone)
        try fleet.launchNew(.watch)
        await fleet.run { fleet.connections[.phone]?.requests.isReachable() == true }
        try await fleet.set(1, on: .phone)
        await fleet.run { fleet.states[.phone]?.isSynced == true }
        if isAsked {
            // The session reports a counterpart that doesn't answer. The phone repeats its question about the frames it supports.
            fleet.kill(.watch)
            let silent = try #require(fleet.pair.watch.relaunch())
            silent.activate()
            await fleet.run(for: .seconds(20))
            try await fleet.set(2, on: .phone)
            #expect(fleet.connections[.phone]?.counterpartIsOld == false)
        } else {
            try fleet.launchOld(.watch)
            await fleet.run(within: .seconds(340)) { fleet.connections[.phone]?.counterpartIsOld == true }
            try await fleet.set(2, on: .phone)
        }
        #expect(fleet.states[.phone]?.isSynced == false)
        try fleet.launchNew(.watch)
        await fleet.run { fleet.value(.watch) == 2 }
        await fleet.run(for: .seconds(60))
        #expect(fleet.states[.phone]?.pendingPeerIDs == [] && fleet.states[.phone]?.isSynced == true)
        try fleet.launchNew(.phone)
        await fleet.run(for: .seconds(60))
        #expect(fleet.states[.phone]?.pendingPeerIDs == [] && fleet.states[.phone]?.isSynced == true)
    }

    @Test func `a counterpart probed for its version isn't a second peer`() async throws {
        let bench = Counterpart(dialect: .mesh)
        bench.transport.take(.reachability(isReachable: true))
        bench.clock.advance(by: .seconds(4))
        for _ in 0..<200 where bench.session.sendMessageDataCallCount == 0 { await turns() }
        #expect(bench.session.sendMessageDataCallCount == 1)
        #expect(bench.transport.knownPeers.isEmpty)
        // A counterpart that has sent a request is a peer until it is answered.
        let request = try WireRequest(request: Add(left: 1, right: 1))
        bench.transport.take(.request(request, .userInfo, reply: nil))
        #expect(bench.transport.knownPeers.map(\.id) == [CounterpartTransport.counterpart.id])
        try await bench.transport.send(.init(.answer, id: request.requestID, type: "Add", body: Data("2".utf8)))
        #expect(bench.transport.knownPeers.isEmpty)
        #expect(bench.session.sendMessageDataCallCount == 2)
    }

    // MARK: Versions

    @Test func `two detections at once leave all observers with the later one`() async throws {
        let bench = Counterpart()
        let transport = bench.transport
        transport.take(.reachability(isReachable: true))
        let changes = transport.reachabilityChanges()
        Self.race(transport)
        let isOld = transport.dialect == .reference
        var dialects = transport.dialects.subscribe().makeAsyncIterator()
        #expect(await dialects.next() == transport.dialect)
        #expect(bench.port.isOld == isOld)
        await transport.close()
        var reported: [Bool] = []
        for await change in changes where change.peer?.id == CounterpartTransport.counterpart.id {
            reported.append(change.isReachable)
        }
        // Every change is reported once, in order.
        #expect(reported.last == isOld)
        #expect(zip(reported, reported.dropFirst()).count { $0 == $1 } == 0)
    }

    private nonisolated static func race(_ transport: CounterpartTransport) {
        let endedCount = Locked(0)
        for _ in 0...1 {
            Thread.detachNewThread {
                for number in 0..<1000 {
                    transport.setDialect(number.isMultiple(of: 2) ? .reference : .mesh, isProven: true)
                }
                endedCount.withLock { $0 += 1 }
            }
        }
        while endedCount.withLock({ $0 }) < 2 { Thread.sleep(forTimeInterval: 0.001) }
    }

    @Test func `a detection during the write of an earlier one stays written`() async throws {
        let store = SlowStore()
        let transport = Counterpart(store: store).transport
        // Meanwhile another writer would have enough time to be first.
        store.duringFirst { transport.setDialect(.mesh) }
        transport.setDialect(.reference)
        for _ in 0..<2000 where store.written.count < 2 { await turns() }
        #expect(store.written == ["reference", "mesh"])
        #expect(transport.dialect == .mesh)
    }

    // MARK: Early events

    @Test func `events from before the first observer are delivered before later ones`() async throws {
        let bench = Counterpart()
        let port = bench.port
        for number in 1...2 { port.contextWasWritten(error: Numbered(number: number)) }
        let reported = Locked<[Int]>([])
        port.open { event in
            guard case .contextWritten(let error as Numbered) = event else { return }
            reported.withLock { $0.append(error.number) }
            if error.number < 3 { port.contextWasWritten(error: Numbered(number: error.number + 10)) }
        }
        port.contextWasWritten(error: Numbered(number: 20))
        #expect(reported.withLock { $0 } == [1, 2, 11, 12, 20])
    }
}

/// A store whose first commit is slow.
private final class SlowStore: SessionStore {
    private struct State {
        var during: (@Sendable () -> Void)?
        var written: [String] = []
    }

    private let store = MemoryStore()
    private let state = Locked(State())

    var written: [String] { state.withLock { $0.written } }

    func duringFirst(_ body: @escaping @Sendable () -> Void) { state.withLock { $0.during = body } }

    var durability: StoreDurability { store.durability }
    func commit(_ batch: StoreBatch) throws {
        let during = state.withLock { state in
            defer { state.during = nil }
            return state.during
        }
        if let during {
            during()
            for _ in 0..<100 where written.isEmpty { Thread.sleep(forTimeInterval: 0.002) }
        }
        for case .set(_, let bytes) in batch.operations {
            state.withLock { $0.written.append(String(decoding: bytes, as: UTF8.self)) }
        }
        try store.commit(batch)
    }
    func value(for key: String) throws -> [UInt8]? { try store.value(for: key) }
    func catalog(prefix: String) throws -> StoreCatalog { try store.catalog(prefix: prefix) }
    func entries(of journal: String, from position: UInt64, maxBytes: Int) throws -> [StoreEntry] {
        try store.entries(of: journal, from: position, maxBytes: maxBytes)
    }
    func close() {}
}

private struct Numbered: Error { let number: Int }

/// A counterpart over a mock session that answers nothing, whose mesh has no peers.
@MainActor
private struct Counterpart {
    let clock = ManualClock()
    let session = MockWCSession()
    let port: ReferencePort
    let transport: CounterpartTransport

    init(store: (any SessionStore)? = nil, dialect: Dialect? = nil) {
        session.autoReply = false
        let decoder = JSONDecoder()
        port = ReferencePort(
            multiplexer: .of(session, clock: clock), decoder: decoder, clock: clock)
        let other = MockWCSession()
        let mesh = CounterpartTransport(
            localPeer: here, mesh: nil,
            port: ReferencePort(
                multiplexer: .of(other, clock: clock), decoder: decoder, clock: clock),
            clock: clock, store: nil, dialect: .unknown)
        transport = CounterpartTransport(
            localPeer: here, mesh: mesh, port: port, clock: clock, store: store, dialect: dialect)
    }
}
