import Foundation
import MeshBase
import MeshTesting
import SessionMeshWatchConnectivity
import Testing

@MainActor
@Suite("A counterpart with WatchConnectivitySwift 5 is understood, and answered in its frames")
struct MixedFleetTests {
    // MARK: Bytes as that library writes them

    private nonisolated static let id = UUID(uuidString: "E621E1F8-C36C-495A-93FC-0C247A3E6E5F")!

    /// `Add(left: 2, right: 3)`.
    private nonisolated static let message = #"""
        {"typeName":"Add","payload":"eyJsZWZ0IjoyLCJyaWdodCI6M30=","requestID":"E621E1F8-C36C-495A-93FC-0C247A3E6E5F",\#
        "isFireAndForget":false,"timestamp":771692800.25}
        """#
    private nonisolated static let userInfo = #"{"request":\#(message)}"#
    private nonisolated static let success = #"""
        {"outcome":{"success":{"_0":"NQ=="}},"requestID":"E621E1F8-C36C-495A-93FC-0C247A3E6E5F","timestamp":771692801}
        """#
    private nonisolated static let failure = #"""
        {"outcome":{"failure":{"_0":{"handlerNotRegistered":{"requestType":"Add"}}}},\#
        "requestID":"E621E1F8-C36C-495A-93FC-0C247A3E6E5F","timestamp":771692801}
        """#

    @Test func `its frames are read`() throws {
        let request = try JSONDecoder().decode(WireRequest.self, from: Data(Self.message.utf8))
        #expect(request.typeName == "Add" && request.requestID == Self.id && !request.isFireAndForget)
        #expect(request.timestamp == Date(timeIntervalSinceReferenceDate: 771_692_800.25))
        #expect(try request.decodePayload(as: Add.self).right == 3)
        let success = try JSONDecoder().decode(WireResponse.self, from: Data(Self.success.utf8))
        #expect(try success.decodeSuccess(as: Int.self) == 5)
        let failure = try JSONDecoder().decode(WireResponse.self, from: Data(Self.failure.utf8))
        #expect(failure.error == .handlerNotRegistered(requestType: "Add"))
        for json in [
            #"{"notReachable":{}}"#, #"{"timeout":{}}"#, #"{"deliveryFailed":{"reason":"r"}}"#,
            #"{"sessionError":{"code":7007,"description":"d"}}"#, #"{"fileNotFound":{"url":"f"}}"#,
        ] {
            let error = try JSONDecoder().decode(WatchConnectionError.self, from: Data(json.utf8))
            #expect(String(decoding: try JSONEncoder().encode(error), as: UTF8.self).count == json.count)
        }
    }

    @Test func `its frames are written`() throws {
        func object(_ value: some Encodable) throws -> [String: Any]? {
            try JSONSerialization.jsonObject(with: JSONEncoder().encode(value)) as? [String: Any]
        }
        let request = try #require(try object(WireRequest(request: Add(left: 2, right: 3))))
        #expect(Set(request.keys) == ["typeName", "payload", "requestID", "isFireAndForget", "timestamp"])
        #expect(request["typeName"] as? String == "Add")
        #expect(request["isFireAndForget"] as? Bool == false)
        let payload = try #require(Data(base64Encoded: request["payload"] as? String ?? ""))
        #expect(try JSONDecoder().decode(Add.self, from: payload).left == 2)
        let success = try #require(try object(WireResponse.success(Data("5".utf8), requestID: Self.id)))
        #expect(Set(success.keys) == ["outcome", "requestID", "timestamp"])
        #expect((success["outcome"] as? [String: [String: String]]) == ["success": ["_0": "NQ=="]])
        #expect(success["requestID"] as? String == Self.id.uuidString)
    }

    @Test func `a request is answered on every permitted lane`() async throws {
        let bench = Bench(MockWCSession())
        let calls = Locked(0)
        bench.connection.register(Add.self) { request in
            calls.withLock { $0 += 1 }
            return request.left + request.right
        }
        let sent = Locked<[Data]>([])
        bench.session.onSendMessageData = { data in sent.withLock { $0.append(data) } }
        bench.session.simulateReceivedUserInfo(["WatchConnectivitySwift.Request": Data(Self.userInfo.utf8)])
        await bench.run { sent.withLock { $0.count } == 1 }
        let answer = try JSONDecoder().decode(WireResponse.self, from: try #require(sent.withLock { $0.first }))
        #expect(answer.requestID == Self.id)
        #expect(try answer.decodeSuccess(as: Int.self) == 5)
        // The phone receives the request again, as a message and in the context.
        let reply = Locked<Data?>(nil)
        bench.session.simulateReceivedMessage(Data(Self.message.utf8)) { data in reply.withLock { $0 = data } }
        await bench.run { reply.withLock { $0 } != nil }
        bench.session.simulateReceivedApplicationContext(["WatchConnectivitySwift.Request": Data(Self.message.utf8)])
        await bench.run()
        #expect(calls.withLock { $0 } == 1)
    }

    @Test func `a request in the context runs once, whatever else changes there, and not if it is old`() async throws {
        let bench = Bench(MockWCSession())
        let calls = Locked(0)
        bench.connection.register(Add.self) { _ in
            calls.withLock { $0 += 1 }
            return 0
        }
        let recent = Data(OldApp.request("Add", #"{"left":1,"right":1}"#, at: bench.clock.wall).utf8)
        for round in 1...3 {
            bench.session.simulateReceivedApplicationContext([
                "WatchConnectivitySwift.Request": recent, "other": round,
                // Half an hour old.
                "WatchConnectivitySwift.FireAndForget.\(UUID())": Data(
                    OldApp.request("Add", #"{"left":1,"right":1}"#, isFireAndForget: true, at: bench.clock.wall - 1800)
                        .utf8),
            ])
            await bench.run()
        }
        #expect(calls.withLock { $0 } == 1)
    }

    @Test func `a reply to another request, or an invalid one, is a specific error`() async throws {
        let session = OddSession()
        let folder = try TemporaryFolder()
        let bench = Bench(session, folder: folder.url)
        #expect(bench.connection.store == nil)
        session.reply = { _ in Data(Self.success.utf8) }
        let foreign = await bench.failure { try await bench.connection.send(Add(left: 1, right: 1)) }
        guard case .replyFailed = foreign else {
            Issue.record("a foreign reply is accepted: \(String(describing: foreign))")
            return
        }
        session.reply = { _ in Data("what?".utf8) }
        let noise = await bench.failure { try await bench.connection.send(Add(left: 1, right: 1)) }
        guard case .incompatiblePeer = noise else {
            Issue.record("random bytes are accepted as a reply: \(String(describing: noise))")
            return
        }
    }

    @Test func `a frame that cannot be read is an incompatible peer, and is answered`() async throws {
        let bench = Bench(MockWCSession())
        let reply = Locked<Data?>(nil)
        bench.session.simulateReceivedMessage(Data(#"{"requestID":"\#(Self.id)","typeName":"Add","v":9}"#.utf8)) {
            data in reply.withLock { $0 = data }
        }
        bench.session.simulateReceivedUserInfo(["WatchConnectivitySwift.Request": Data("{}".utf8)])
        await bench.run { reply.withLock { $0 } != nil }
        let response = try JSONDecoder().decode(WireResponse.self, from: try #require(reply.withLock { $0 }))
        guard response.requestID == Self.id, case .decodingFailed = response.error else {
            Issue.record("\(response)")
            return
        }
        await bench.run { bench.events.all.filter(\.isIncompatiblePeer).count == 2 }
    }

    @Test func `the app's own messages go to the app's delegate`() async throws {
        let session = MockWCSession()
        let app = AppDelegate()
        session.delegate = app
        let bench = Bench(session)
        session.simulateReceivedMessage(Data("hello".utf8))
        session.simulateReceivedMessage(Data(#"{"requestID":7}"#.utf8)) { _ in }
        session.simulateReceivedUserInfo(["mine": 1])
        session.simulateReceivedApplicationContext([
            "mine": 2, "WatchConnectivitySwift.Counter": Data("{}".utf8),
        ])
        await bench.run()
        #expect(app.noted.withLock { $0 } == ["data 5", "request 15", #"info ["mine"]"#, #"context ["mine"]"#])
    }

    // MARK: Against an app with that library

    @Test func `an updated phone works with an old watch, on every lane`() async throws {
        let pair = try MixedPair()
        pair.watch.answers.withLock { $0 = ["Add": "5", "Note": "{}"] }
        let phone = pair.phone
        for strategy in [DeliveryStrategy.messageWithUserInfoFallback, .messageOnly, .userInfoOnly, .contextOnly] {
            if strategy == .contextOnly { continue }
            #expect(try await pair.finish { try await phone.send(Add(left: 2, right: 3), strategy: strategy) } == 5)
        }
        #expect(try await pair.finish { try await phone.sendWhenReady(Add(left: 2, right: 3)) } == 5)
        try await pair.finish { await phone.send(Note(line: 1)) }
        try await pair.finish { await phone.send(Note(line: 2), strategy: .userInfoOnly) }
        try await pair.finish { await phone.send(Note(line: 3), strategy: .contextOnly) }
        await pair.run { pair.watch.seen.requests.filter { $0 == "Note" }.count == 3 }
        await pair.run(for: .seconds(30))
        #expect(pair.watch.seen.requests.filter { $0 == "Add" }.count == 4)
        #expect(pair.watch.seen.requests.filter { $0 == "Note" }.count == 3)
        let error = await pair.failure { try await phone.send(Unknown()) }
        #expect(error == .handlerNotRegistered(requestType: "Unknown"))
        #expect(phone.sessionHealth == .healthy)
    }

    @Test func `a request cancelled before the watch's version was known doesn't reach it`() async throws {
        let pair = try MixedPair()
        pair.watch.answers.withLock { $0 = ["Add": "5"] }
        pair.pair.watch.enterBackground()
        let phone = pair.phone
        let pending = Task { try await phone.send(Add(left: 2, right: 3), strategy: .userInfoOnly) }
        await pair.run(for: .seconds(5))
        #expect(!phone.counterpartIsOld)
        pending.cancel()
        await pair.run(for: .seconds(1))
        pair.pair.watch.enterForeground()
        await pair.run { phone.counterpartIsOld }
        await pair.run(for: .seconds(30))
        #expect(!pair.watch.seen.requests.contains("Add"))
    }

    @Test func `an old watch works with an updated phone, on every lane`() async throws {
        let pair = try MixedPair()
        pair.phone.register(Add.self) { $0.left + $0.right }
        let ids = (0..<2).map { _ in UUID() }
        await pair.run(for: .seconds(2))
        pair.watch.send(OldApp.request("Add", #"{"left":2,"right":3}"#, id: ids[0]))
        pair.watch.transfer(OldApp.request("Add", #"{"left":4,"right":3}"#, id: ids[1]))
        await pair.run { pair.watch.seen.responses.count == 2 }
        #expect(pair.watch.seen.responses == [ids[0]: "5", ids[1]: "7"])
    }

    /// WatchConnectivitySwift writes and reads plain JSON, regardless of the app's coders.
    @Test func `an updated phone with custom coders works with an old watch, both ways`() async throws {
        for coders in Self.ownCoders {
            let pair = try MixedPair(encoder: coders.encoder, decoder: coders.decoder)
            let date = Date(timeIntervalSinceReferenceDate: 771_692_800)
            pair.watch.answers.withLock { $0 = ["Later": "771692860"] }
            for strategy in [DeliveryStrategy.messageOnly, .userInfoOnly, .messageWithUserInfoFallback] {
                let answer = try await pair.finish { try await pair.phone.send(Later(date: date), strategy: strategy) }
                #expect(answer == date + 60, "\(strategy)")
            }
            #expect(pair.watch.payloads.withLock { $0 } == Array(repeating: #"{"date":771692800}"#, count: 3))
            pair.phone.register(Later.self) { $0.date + 60 }
            let ids = (0..<2).map { _ in UUID() }
            pair.watch.send(OldApp.request("Later", #"{"date":771692800}"#, id: ids[0]))
            pair.watch.transfer(OldApp.request("Later", #"{"date":771692800}"#, id: ids[1]))
            await pair.run { pair.watch.seen.responses.count == 2 }
            #expect(ids.map { pair.watch.seen.responses[$0] } == ["771692860", "771692860"])
        }
    }

    private static var ownCoders: [(encoder: JSONEncoder, decoder: JSONDecoder)] {
        let iso = (encoder: JSONEncoder(), decoder: JSONDecoder())
        iso.encoder.dateEncodingStrategy = .iso8601
        iso.decoder.dateDecodingStrategy = .iso8601
        // It also reads the other library's dates, but as dates 31 years earlier.
        let unix = (encoder: JSONEncoder(), decoder: JSONDecoder())
        unix.encoder.dateEncodingStrategy = .secondsSince1970
        unix.decoder.dateDecodingStrategy = .secondsSince1970
        return [iso, unix]
    }

    @Test func `an old watch's state is read by a plain decoder if the app's can't, with a report`()
        async throws
    {
        let coders = Self.ownCoders[0]
        let pair = try MixedPair()
        let events = Recorder(pair.phone.diagnosticEvents)
        let state = SharedState(
            initialValue: Later(date: .distantPast), connection: pair.phone, encoder: coders.encoder,
            decoder: coders.decoder)
        await pair.run(for: .seconds(2))
        try pair.watch.set(#"{"date":771692800}"#, for: "Later")
        await pair.run { state.value.date == Date(timeIntervalSinceReferenceDate: 771_692_800) }
        await pair.run { events.all.contains(.requestEncodingFailed(requestType: "Later")) }
    }

    @Test func `an answer waits until an old watch can be reached again`() async throws {
        let pair = try MixedPair()
        pair.phone.register(Add.self) { $0.left + $0.right }
        await pair.run(for: .seconds(5))
        let id = UUID()
        pair.watch.transfer(OldApp.request("Add", #"{"left":4,"right":3}"#, id: id))
        pair.pair.watch.enterBackground()
        await pair.run(for: .seconds(30))
        pair.pair.watch.enterForeground()
        await pair.run { pair.watch.seen.responses[id] == "7" }
    }

    @Test func `shared states are the same on an old watch and an updated phone`() async throws {
        let pair = try MixedPair()
        let counter = SharedState(initialValue: Counter(), connection: pair.phone)
        let title = SharedState(initialValue: Title(), connection: pair.phone)
        try counter.update(Counter(count: 1))
        try title.update(Title(name: "one"))
        await pair.run { pair.watch.seen.states.count >= 2 }
        #expect(pair.watch.seen.states["Counter"].map { String(decoding: $0, as: UTF8.self) } == #"{"count":1}"#)
        #expect(pair.watch.seen.states["Title"].map { String(decoding: $0, as: UTF8.self) } == #"{"name":"one"}"#)
        try pair.watch.set(#"{"count":2}"#, for: "Counter")
        await pair.run { counter.value.count == 2 }
        try counter.update(Counter(count: 3))
        await pair.run {
            pair.watch.seen.states["Counter"].map { String(decoding: $0, as: UTF8.self) } == #"{"count":3}"#
        }
        // The old watch's context still contains 2, and sends it again with every other change of the context.
        try pair.watch.set(#"{"name":"two"}"#, for: "Title")
        await pair.run { title.value.name == "two" }
        #expect(counter.value.count == 3)
    }

    @Test func `files go both ways between an old watch and an updated phone`() async throws {
        let pair = try MixedPair()
        pair.watch.answers.withLock { $0 = ["Add": "5"] }
        _ = try await pair.finish { try await pair.phone.send(Add(left: 2, right: 3)) }
        let received = Locked<[String]>([])
        pair.phone.onFileReceived = { file in
            let text = (try? String(contentsOf: file.fileURL, encoding: .utf8)) ?? ""
            received.withLock { $0.append("\(file.metadata?["id"] as? String ?? "-"): \(text)") }
            try? FileManager.default.removeItem(at: file.fileURL)
        }
        let file = try pair.write("track", "a track")
        let transfer = try await pair.finish { try await pair.phone.transferFile(file, metadata: ["id": "7"]) }
        try await pair.finish { try await transfer.waitForCompletion() }
        #expect(pair.watch.seen.files == ["7: a track"])
        pair.watch.session.transferFile(try pair.write("note", "a note"), metadata: ["id": "8"])
        await pair.run { received.withLock { $0.count } == 1 }
        #expect(received.withLock { $0 } == ["8: a note"])
    }

    @Test func `an updated watch gets the mesh's frames from then on`() async throws {
        let pair = try MixedPair()
        pair.watch.answers.withLock { $0 = ["Add": "5"] }
        let counter = SharedState(initialValue: Counter(), connection: pair.phone)
        try counter.update(Counter(count: 1))
        #expect(try await pair.finish { try await pair.phone.send(Add(left: 2, right: 3)) } == 5)
        #expect(pair.phone.counterpartIsOld)
        let updated = try pair.updateWatch()
        let sums = Locked(0)
        updated.register(Add.self) { request in
            sums.withLock { $0 += 1 }
            return request.left + request.right
        }
        let remote = SharedState(initialValue: Counter(), connection: updated)
        await pair.run { !pair.phone.counterpartIsOld }
        #expect(try await pair.finish { try await pair.phone.send(Add(left: 20, right: 3)) } == 23)
        #expect(sums.withLock { $0 } == 1)
        await pair.run { remote.value.count == 1 }
        try remote.update(Counter(count: 2))
        await pair.run { counter.value.count == 2 }
        try counter.update(Counter(count: 3))
        await pair.run { remote.value.count == 3 }
        await pair.run(for: .seconds(10))
        #expect(counter.value.count == 3 && remote.value.count == 3)
        let keys = pair.pair.phone.session?.applicationContext.keys.filter { $0.hasPrefix("WatchConnectivitySwift.") }
        #expect(keys?.isEmpty == true)
    }

    @Test func `the health of a connection with an old watch can be verified`() async throws {
        let pair = try MixedPair()
        let events = Recorder(pair.phone.diagnosticEvents)
        try await pair.finish { await pair.phone.attemptRecovery() }
        await pair.run { events.all.contains(.recoverySucceeded) }
    }
}

struct Unknown: WatchRequest { typealias Response = Int }

/// A session that answers as the test specifies.
final class OddSession: WCSessionProviding, @unchecked Sendable {
    private let state = Locked<(reply: @Sendable (Data) -> Data, applicationContext: [String: Any])>(({ $0 }, [:]))
    private weak var held: (any WCSessionDelegate)?

    var reply: @Sendable (Data) -> Data {
        get { state.withLock { $0.reply } }
        set { state.withLock { $0.reply = newValue } }
    }

    /// True if the session answers the hello itself, and not as the test specifies.
    let hello = Locked(true)
    var answersHello: Bool {
        get { hello.withLock { $0 } }
        set { hello.withLock { $0 = newValue } }
    }

    let activationState = WCSessionActivationState.activated
    let isReachable = true
    let isPaired = true
    let isWatchAppInstalled = true
    var applicationContext: [String: Any] { state.withLock { $0.applicationContext } }
    let receivedApplicationContext: [String: Any] = [:]
    var delegate: (any WCSessionDelegate)? {
        get { held }
        set { held = newValue }
    }
    let outstandingUserInfoTransfers: [WCSessionUserInfoTransfer] = []
    let outstandingFileTransfers: [WCSessionFileTransfer] = []

    func activate() {}
    func stateChanges() -> AsyncStream<WCSessionState> { AsyncStream { $0.finish() } }
    func sendMessage(
        _ message: [String: Any], replyHandler: (([String: Any]) -> Void)?, errorHandler: ((any Error) -> Void)?
    ) {}
    func sendMessageData(_ data: Data, replyHandler: ((Data) -> Void)?, errorHandler: ((any Error) -> Void)?) {
        let frame = answersHello ? try? JSONDecoder().decode(WireRequest.self, from: data) : nil
        if let frame, frame.typeName == "SessionMesh.Hello" {
            let error = WatchConnectionError.handlerNotRegistered(requestType: frame.typeName)
            let response = try? JSONEncoder().encode(WireResponse.failure(error, requestID: frame.requestID))
            replyHandler?(response ?? Data())
        } else {
            replyHandler?(reply(data))
        }
    }
    func updateApplicationContext(_ applicationContext: [String: Any]) throws {
        nonisolated(unsafe) let context = applicationContext
        state.withLock { $0.applicationContext = context }
    }
    func transferUserInfo(_ userInfo: [String: Any]) -> WCSessionUserInfoTransfer {
        WCSession.default.transferUserInfo([:])
    }
    func transferFile(_ file: URL, metadata: [String: Any]?) -> WCSessionFileTransfer {
        WCSession.default.transferFile(file, metadata: nil)
    }
}

/// The app's own delegate, which records the calls that are left to it.
final class AppDelegate: NSObject, WCSessionDelegate, @unchecked Sendable {
    let noted = Locked<[String]>([])

    private func note(_ text: String) { noted.withLock { $0.append(text) } }

    func session(
        _ session: WCSession, activationDidCompleteWith activationState: WCSessionActivationState,
        error: (any Error)?
    ) {}
    func session(_ session: WCSession, didReceiveMessageData messageData: Data) { note("data \(messageData.count)") }
    func session(
        _ session: WCSession, didReceiveMessageData messageData: Data, replyHandler: @escaping (Data) -> Void
    ) {
        note("request \(messageData.count)")
    }
    func session(_ session: WCSession, didReceiveUserInfo userInfo: [String: Any]) {
        note("info \(userInfo.keys.sorted())")
    }
    func session(_ session: WCSession, didReceiveApplicationContext applicationContext: [String: Any]) {
        note("context \(applicationContext.keys.sorted())")
    }
}

extension DiagnosticEvent {
    var isIncompatiblePeer: Bool {
        if case .deliveryFailed(_, .incompatiblePeer, _) = self { true } else { false }
    }
}

private struct Later: WatchRequest, Equatable {
    typealias Response = Date
    let date: Date
}
