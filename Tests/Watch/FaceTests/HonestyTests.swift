import Foundation
import MeshBase
import SessionMeshWatchConnectivity
import Testing

@MainActor
@Suite("Failures are reported in the words of the component that found them")
struct HonestyTests {
    @Test func `a rejected context is reported, also by the states in it`() async throws {
        let bench = Bench(MockWCSession())
        let state = SharedState(initialValue: Counter(), connection: bench.connection)
        bench.session.updateContextError = WCError(.insufficientSpace)
        try state.update(Counter(count: 5))
        let refused = DiagnosticEvent.deliveryFailed(
            requestType: "application context", error: .insufficientSpace, willRetry: true)
        await bench.run { bench.events.all.contains(refused) }
        #expect(state.lastSyncError as? WatchConnectionError == .insufficientSpace)
        bench.session.updateContextError = nil
        await bench.run { state.lastSyncError == nil }
        #expect(bench.session.applicationContext["WatchConnectivitySwift.Counter"] is Data)
    }

    @Test func `a value that doesn't fit isn't reported as shared when another one is`() async throws {
        let bench = Bench(MockWCSession())
        let title = SharedState(initialValue: Title(), connection: bench.connection)
        let counter = SharedState(initialValue: Counter(), connection: bench.connection)
        func isTooLarge() -> Bool {
            if case .payloadTooLarge = title.lastSyncError as? WatchConnectionError { true } else { false }
        }
        try title.update(Title(name: "a"))
        await bench.run { bench.session.applicationContext["WatchConnectivitySwift.Title"] is Data }
        for back in ["b", "a"] {
            try title.update(Title(name: String(repeating: "x", count: 300_000)))
            await bench.run { isTooLarge() }
            let writes = bench.session.updateApplicationContextCallCount
            try counter.update(Counter(count: counter.value.count + 1))
            await bench.run { bench.session.updateApplicationContextCallCount > writes }
            await bench.run()
            #expect(isTooLarge())
            try title.update(Title(name: back))
            await bench.run { title.lastSyncError == nil }
        }
    }

    @Test func `NaN isn't sent to a counterpart that can't read it, until the value changes`()
        async throws
    {
        struct Pace: Codable, Sendable, Equatable { var pace = 1.0 }
        let bench = Bench(MockWCSession())
        let state = SharedState(initialValue: Pace(), connection: bench.connection)
        try state.update(Pace(pace: .nan))
        await bench.run { state.lastSyncError != nil }
        #expect(state.value.pace.isNaN)
        #expect(state.lastSyncError != nil)
        #expect(bench.session.applicationContext["WatchConnectivitySwift.Pace"] == nil)
        try state.update(Pace(pace: 2))
        await bench.run { state.lastSyncError == nil }
        #expect(state.lastSyncError == nil)
        #expect(bench.session.applicationContext["WatchConnectivitySwift.Pace"] as? Data == Data(#"{"pace":2}"#.utf8))
    }

    @Test func `a handler's error arrives with its own text`() async throws {
        struct Off: LocalizedError { let errorDescription: String? = "Tracking is off." }
        struct Plain: Error {}
        let bench = Bench(MockWCSession())
        for (error, text) in [
            (Off(), "Tracking is off."), (Plain(), "Plain()"),
            (NSError(domain: "app", code: 3, userInfo: [NSLocalizedDescriptionKey: "No fix."]), "No fix."),
        ] as [(any Error, String)] {
            bench.connection.register(Add.self) { _ in throw error }
            let reply = Locked<Data?>(nil)
            let request = try WireRequest(request: Add(left: 1, right: 2))
            bench.session.simulateReceivedMessage(try JSONEncoder().encode(request)) { data in
                reply.withLock { $0 = data }
            }
            await bench.run { reply.withLock { $0 } != nil }
            let response = try JSONDecoder().decode(WireResponse.self, from: try #require(reply.withLock { $0 }))
            #expect(response.error == .handlerError(description: text))
            #expect(response.error?.localizedDescription == text)
        }
    }

    @Test func `a mock can receive another mock's writes`() async throws {
        let (first, second) = (Bench(MockWCSession()), Bench(MockWCSession()))
        let here = SharedState(initialValue: Counter(), connection: first.connection)
        let there = SharedState(initialValue: Counter(), connection: second.connection)
        try here.update(Counter(count: 5))
        await first.run { first.session.updateApplicationContextCallCount > 0 }
        second.session.simulateReceivedApplicationContext(
            try #require(first.session.lastUpdatedApplicationContext))
        await second.run { there.value.count == 5 }
        try there.update(Counter(count: 6))
        await second.run { second.session.updateApplicationContextCallCount > 0 }
        second.session.sendMessageResponse = try JSONEncoder().encode(
            WireResponse(outcome: .success(Data("7".utf8)), requestID: UUID(), timestamp: Date()))
        #expect(try await second.finish { try await second.connection.send(Add(left: 3, right: 4)) } == 7)
    }

    @Test func `a disconnected preview answers waiting requests once it is connected`() async throws {
        let bench = Bench(PreviewWCSession.disconnected)
        bench.session.setMockResponse(3, for: Add.self)
        let isOver = Locked(false)
        let pending = Task {
            defer { isOver.withLock { $0 = true } }
            return try await bench.connection.send(Add(left: 1, right: 2), strategy: .messageOnly)
        }
        await bench.run(for: .seconds(6))
        #expect(!isOver.withLock { $0 } && bench.connection.pendingRequestCount == 1)
        bench.session.simulateReachabilityChange(true)
        await bench.run { isOver.withLock { $0 } }
        #expect(try await pending.value == 3)
    }

    @Test func `a session that answers every request with one ID is reported in time`() async throws {
        let session = OddSession()
        session.answersHello = false
        session.reply = { _ in
            (try? JSONEncoder().encode(
                WireResponse(outcome: .success(Data("7".utf8)), requestID: UUID(), timestamp: Date()))) ?? Data()
        }
        let folder = try TemporaryFolder()
        let bench = Bench(session, folder: folder.url)
        let error = await bench.failure { try await bench.connection.send(Add(left: 1, right: 1)) }
        guard case .replyFailed = error else {
            Issue.record("the reply was to another request: \(String(describing: error))")
            return
        }
    }
}

@MainActor
@Suite("Several connections of one session")
struct TwoConnectionsTests {
    @Test func `share handlers, answers and states`() async throws {
        let fleet = Fleet(remembers: true)
        try fleet.launchNew(.phone)
        try fleet.launchNew(.watch)
        let first = try #require(fleet.connections[.phone])
        let folder = try TemporaryFolder()
        let second = WatchConnection(
            session: first.session, configuration: .init(localPeer: here, folder: folder.url, clock: fleet.pair.clock))
        let watch = try #require(fleet.connections[.watch])
        second.register(Unknown.self) { _ in 8 }
        let state = SharedState(initialValue: Counter(), connection: second)
        await fleet.run { first.requests.isReachable() && watch.requests.isReachable() }
        for connection in [first, second] {
            #expect(try await fleet.finish { try await connection.send(Add(left: 20, right: 3)) } == 23)
        }
        #expect(try await fleet.finish { try await watch.send(Add(left: 2, right: 3)) } == 5)
        #expect(try await fleet.finish { try await watch.send(Unknown()) } == 8)
        try await fleet.set(4, on: .watch)
        #expect(state.value.count == 4 && fleet.value(.phone) == 4)
        try state.update(Counter(count: 6))
        await fleet.run(for: .seconds(5))
        #expect(fleet.value(.watch) == 6 && fleet.value(.phone) == 6)
        #expect(second.storeError == nil)

        await second.close()
        #expect(try await fleet.finish { try await first.send(Add(left: 1, right: 3)) } == 4)
    }

    @Test func `each get a mock's contexts and reachability`() async throws {
        let bench = Bench(MockWCSession())
        let second = WatchConnection(session: bench.session, configuration: .init(clock: bench.clock))
        let contexts = [
            Recorder(bench.connection.receivedApplicationContexts), Recorder(second.receivedApplicationContexts),
        ]
        bench.session.simulateReceivedApplicationContext(["mine": 1])
        bench.session.simulateReachabilityChange(false)
        await bench.run { contexts.allSatisfy { $0.all.count == 1 } && !second.isReachable }
        #expect(!bench.connection.isReachable)
    }

    @Test func `pass files to the handler set last, and to the one before once its connection closes`()
        async throws
    {
        let pair = try MixedPair()
        let second = WatchConnection(session: pair.phone.session, configuration: .init(clock: pair.pair.clock))
        await pair.run(for: .seconds(2))
        let names = Locked<[String]>([])
        @MainActor func handle(_ connection: WatchConnection, as name: String, keeping object: Captured? = nil) {
            connection.onFileReceived = { file in
                withExtendedLifetime(object) { names.withLock { $0.append(name) } }
                try? FileManager.default.removeItem(at: file.fileURL)
            }
        }
        var object: Captured? = Captured()
        weak let weakObject = object
        handle(pair.phone, as: "first")
        handle(second, as: "second", keeping: object)
        object = nil
        #expect(weakObject != nil)
        pair.watch.session.transferFile(try pair.write("one", "1"), metadata: nil)
        await pair.run { names.withLock { $0 } == ["second"] }
        try await pair.finish { await second.close() }
        #expect(weakObject == nil)
        pair.watch.session.transferFile(try pair.write("two", "2"), metadata: nil)
        await pair.run { names.withLock { $0 } == ["second", "first"] }
    }
}

private final class Captured: Sendable {}
