import Foundation
import MeshBase
import SessionMeshWatchConnectivity
import Testing

/// Tests as apps with WatchConnectivitySwift write them, with its sessions for tests and previews.
@MainActor
@Suite("Stand-in sessions answer as WatchConnectivitySwift does")
struct StandInTests {
    @Test func `a new connection is active, reachable, healthy and idle`() async throws {
        let bench = Bench(MockWCSession())
        #expect(bench.session.activateCallCount == 1)
        #expect(bench.connection.isReachable)
        #expect(bench.connection.pendingRequestCount == 0)
        #expect(bench.connection.activeFileTransferCount == 0)
        #expect(bench.connection.sessionHealth == .healthy)
        #expect(try bench.connection.activationState.get() == .activated)
        await bench.run { bench.events.all.contains(.sessionActivated) }
    }

    @Test func `a preview session returns its configured answers`() async throws {
        let bench = Bench(PreviewWCSession.connected)
        bench.session.setMockResponse(3, for: Add.self)
        #expect(try await bench.finish { try await bench.connection.send(Add(left: 1, right: 2)) } == 3)
        bench.session.clearMockResponses()
        let error = await bench.failure { try await bench.connection.send(Add(left: 1, right: 2)) }
        guard case .decodingFailed = error else {
            Issue.record("an empty answer is accepted as a number: \(String(describing: error))")
            return
        }
    }

    @Test func `a disconnected preview rejects immediate requests`() async throws {
        let bench = Bench(PreviewWCSession.disconnected)
        let error = await bench.failure {
            try await bench.connection.send(Add(left: 1, right: 2), delivery: .immediate)
        }
        #expect(error == .notReachable)
        #expect(!PreviewWCSession.unpaired.isPaired)
        #expect(!PreviewWCSession.unpaired.isWatchAppInstalled)
    }

    @Test func `a mock's response answers the request, whatever its ID`() async throws {
        let bench = Bench(MockWCSession())
        bench.session.sendMessageResponse = try JSONEncoder().encode(
            WireResponse(outcome: .success(Data("7".utf8)), requestID: UUID(), timestamp: Date()))
        #expect(try await bench.finish { try await bench.connection.send(Add(left: 3, right: 4)) } == 7)
        #expect(bench.session.sendMessageDataCallCount == 1)
        let sent = try JSONDecoder().decode(WireRequest.self, from: #require(bench.session.lastSentMessageData))
        #expect(sent.typeName == "Add")
        #expect(!sent.isFireAndForget)
    }

    @Test func `a session's error arrives as its typed error`() async throws {
        let bench = Bench(MockWCSession())
        bench.session.sendMessageError = WCError(.payloadTooLarge)
        let error = await bench.failure {
            try await bench.connection.send(Add(left: 3, right: 4), strategy: .messageOnly)
        }
        #expect(error == WatchConnectionError(wcError: WCError(.payloadTooLarge)))
    }

    @Test func `a request not answered in time is a timeout, and isn't sent twice`() async throws {
        let bench = Bench(MockWCSession())
        bench.session.autoReply = false
        let error = await bench.failure { try await bench.connection.send(Add(left: 3, right: 4)) }
        #expect(error == .timeout)
        #expect(bench.session.sendMessageDataCallCount == 1)
        #expect(bench.session.transferUserInfoCallCount == 0)
    }

    @Test func `fire and forget is sent once, on the given lane`() async throws {
        let bench = Bench(MockWCSession())
        try await bench.finish { await bench.connection.send(Note(line: 1)) }
        #expect(bench.session.sendMessageDataCallCount == 1)
        try await bench.finish { await bench.connection.send(Note(line: 2), strategy: .userInfoOnly) }
        #expect(bench.session.transferUserInfoCallCount == 1)
        #expect(bench.session.lastTransferredUserInfo?.keys.contains("WatchConnectivitySwift.Request") == true)
        await bench.run(for: .seconds(20))
        #expect(bench.session.sendMessageDataCallCount == 1)
        #expect(bench.session.transferUserInfoCallCount == 1)
    }

    @Test func `a request is handled and answered once, however often it arrives`() async throws {
        let bench = Bench(MockWCSession())
        let calls = Locked(0)
        bench.connection.register(Add.self) { request in
            calls.withLock { $0 += 1 }
            return request.left + request.right
        }
        let request = try WireRequest(request: Add(left: 20, right: 22))
        let bytes = try JSONEncoder().encode(request)
        for round in 1...3 {
            let reply = Locked<Data?>(nil)
            bench.session.simulateReceivedMessage(bytes) { data in reply.withLock { $0 = data } }
            await bench.run { reply.withLock { $0 } != nil }
            let response = try JSONDecoder().decode(WireResponse.self, from: #require(reply.withLock { $0 }))
            #expect(response.requestID == request.requestID, "round \(round)")
            #expect(try response.decodeSuccess(as: Int.self) == 42)
        }
        #expect(calls.withLock { $0 } == 1)
        #expect(bench.events.all.contains(.messageReceived(requestType: "Add")))
    }

    @Test func `a request without a handler is answered with an error, once the app has had time to register`()
        async throws
    {
        let bench = Bench(MockWCSession())
        let reply = Locked<Data?>(nil)
        bench.session.simulateReceivedMessage(try JSONEncoder().encode(WireRequest(request: Add(left: 1, right: 1)))) {
            data in reply.withLock { $0 = data }
        }
        await bench.run(within: .seconds(3)) { reply.withLock { $0 } != nil }
        let response = try JSONDecoder().decode(WireResponse.self, from: #require(reply.withLock { $0 }))
        #expect(response.error == .handlerNotRegistered(requestType: "Add"))
    }

    @Test func `queued and fire-and-forget requests run their handlers in order`() async throws {
        let bench = Bench(MockWCSession())
        let lines = Locked<[Int]>([])
        bench.connection.register(Note.self) { note in
            lines.withLock { $0.append(note.line) }
            return VoidResponse()
        }
        for line in 1...20 {
            let request = try WireRequest(request: Note(line: line), isFireAndForget: true)
            let bytes = try JSONEncoder().encode(["request": request])
            bench.session.simulateReceivedUserInfo(["WatchConnectivitySwift.Request": bytes])
        }
        await bench.run { lines.withLock { $0.count } == 20 }
        #expect(lines.withLock { $0 } == Array(1...20))
    }

    @Test func `every subscriber gets later contexts until it is cancelled`() async throws {
        let bench = Bench(MockWCSession())
        let first = Recorder(bench.connection.receivedApplicationContexts)
        let second = Recorder(bench.connection.receivedApplicationContexts)
        bench.session.simulateReceivedApplicationContext(["update": 1])
        await bench.run { first.all.count == 1 && second.all.count == 1 }
        let late = Recorder(bench.connection.receivedApplicationContexts)
        second.cancel()
        await bench.run()
        bench.session.simulateReceivedApplicationContext(["update": 2])
        await bench.run { first.all.count == 2 && late.all.count == 1 }
        #expect(first.all.map { $0["update"] as? Int } == [1, 2])
        #expect(second.all.count == 1)
        #expect(late.all.first?["update"] as? Int == 2)
        #expect(bench.events.all.filter { $0 == .applicationContextReceived }.count == 2)
    }

    @Test func `a shared state is written to and read from the context under its type's name`() async throws {
        let bench = Bench(MockWCSession())
        let state = SharedState(initialValue: Counter(), connection: bench.connection)
        try state.update(Counter(count: 5))
        await bench.run { bench.session.updateApplicationContextCallCount > 0 }
        let written = bench.session.lastUpdatedApplicationContext?["WatchConnectivitySwift.Counter"] as? Data
        #expect(try JSONDecoder().decode(Counter.self, from: #require(written)) == Counter(count: 5))
        let count = bench.session.updateApplicationContextCallCount
        try state.update(Counter(count: 5))
        await bench.run()
        #expect(bench.session.updateApplicationContextCallCount == count)

        let others = [state, SharedState(initialValue: Counter(), connection: bench.connection)]
        let title = SharedState(initialValue: Title(), connection: bench.connection)
        bench.session.simulateReceivedApplicationContext([
            "WatchConnectivitySwift.Counter": try JSONEncoder().encode(Counter(count: 42)),
            "WatchConnectivitySwift.Title": try JSONEncoder().encode(Title(name: "now")),
        ])
        await bench.run { others.allSatisfy { $0.value.count == 42 } && title.value.name == "now" }
        #expect(state.lastSyncError == nil)
    }

    @Test func `a shared state starts with the received context`() throws {
        let session = MockWCSession()
        session.receivedApplicationContext = [
            "WatchConnectivitySwift.Counter": try JSONEncoder().encode(Counter(count: 99))
        ]
        let bench = Bench(session)
        #expect(SharedState(initialValue: Counter(), connection: bench.connection).value.count == 99)
    }

    @Test func `a file goes to the session with its metadata, and ends as the session reports`() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("StandIn-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appendingPathComponent("data.json")
        try Data("{}".utf8).write(to: file)
        let session = MockWCSession()
        session.autoCompleteFileTransfer = false
        let bench = Bench(session, folder: folder.appendingPathComponent("files"))
        let missing = await bench.failure {
            try await bench.connection.transferFile(folder.appendingPathComponent("none"))
        }
        #expect(missing == .fileNotFound(url: folder.appendingPathComponent("none").path))
        let transfer = try await bench.finish { try await bench.connection.transferFile(file, metadata: ["id": "7"]) }
        #expect(session.transferFileCallCount == 1)
        #expect(session.lastTransferredFileURL?.path == file.path)
        #expect(session.lastTransferredFileMetadata?["id"] as? String == "7")
        await bench.run { bench.connection.activeFileTransferCount == 1 }
        bench.connection.cancelAllFileTransfers()
        #expect(transfer.error == .cancelled)
        #expect(bench.connection.outstandingFileTransfers.isEmpty)
        #expect(bench.connection.activeFileTransferCount == 0)
    }

    @Test func `a mock keeps sent messages until it is reset`() {
        let session = MockWCSession()
        session.transferUserInfo(["a": 1])
        session.sendMessageError = WCError(.genericError)
        try? session.updateApplicationContext(["b": 2])
        session.updateContextError = WCError(.notReachable)
        #expect(throws: WCError.self) { try session.updateApplicationContext(["c": 3]) }
        #expect(session.updateApplicationContextCallCount == 2)
        #expect(session.applicationContext["b"] as? Int == 2)
        session.reset()
        #expect(session.transferUserInfoCallCount == 0 && session.updateApplicationContextCallCount == 0)
        #expect(session.lastTransferredUserInfo == nil && session.applicationContext.isEmpty)
        #expect(session.sendMessageError == nil && session.updateContextError == nil)
    }
}
