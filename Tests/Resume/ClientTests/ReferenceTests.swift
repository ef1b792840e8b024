// Uses only the reference's names: with its import in place of ours, this file compiles there as well.
import Foundation
import MeshResume
import Testing

private actor Wire {
    private(set) var handshakes: [HandshakeRequest] = []
    private(set) var heartbeats: [HeartbeatRequest] = []

    func add(_ request: HandshakeRequest) { handshakes.append(request) }
    func add(_ request: HeartbeatRequest) { heartbeats.append(request) }
}

private final class Socket: SessionTransport {
    let wire = Wire()

    func sendHandshake(_ request: HandshakeRequest) async throws { await wire.add(request) }
    func sendHeartbeat(_ request: HeartbeatRequest) async throws { await wire.add(request) }
}

/// An app's own storage, as the reference requires it.
private actor OwnStorage: SessionStorage {
    private var snapshot: SessionSnapshot?

    func load() async -> SessionSnapshot? { snapshot }
    func save(sessionId: String) async { snapshot = SessionSnapshot(sessionId: sessionId, lastSeq: 0) }

    func updateLastSeq(_ lastSeq: UInt64) async {
        guard let current = snapshot, lastSeq > current.lastSeq else { return }
        snapshot = SessionSnapshot(sessionId: current.sessionId, lastSeq: lastSeq)
    }

    func clear() async { snapshot = nil }
}

/// The reference's documented behavior, tested by code that uses nothing else.
@Suite struct ReferenceTests {
    private let socket = Socket()

    private func coordinator(
        storage: any SessionStorage = InMemorySessionStorage(), token: String? = "token"
    ) -> SessionCoordinator {
        SessionCoordinator(
            transport: socket, storage: storage, token: { token },
            clientProperties: ClientProperties(
                platform: "iOS", appVersion: "1.0", osVersion: "17.0", deviceName: "phone", deviceId: "id"),
            configuration: .init(defaultHeartbeatInterval: 30, autoHeartbeat: false).patient)
    }

    @Test func `The shortest initializer uses the defaults`() async {
        let coordinator = SessionCoordinator(
            transport: socket, token: { "token" }, clientProperties: .current)
        await coordinator.connectionDidOpen()
        let kind = await socket.wire.handshakes.first?.kind
        #expect(kind == .identify(.current))
        await coordinator.connectionDidClose(error: nil)
    }

    @Test func `Without a token the client stays disconnected`() async {
        let coordinator = coordinator(token: nil)
        await coordinator.connectionDidOpen()
        #expect(await coordinator.state == .disconnected)
        #expect(await socket.wire.handshakes.isEmpty)
    }

    @Test func `Ready saves the session and makes it live`() async {
        let storage = OwnStorage()
        let coordinator = coordinator(storage: storage)
        await coordinator.connectionDidOpen()
        #expect(await coordinator.state == .handshaking)
        await coordinator.didReceive(.hello(heartbeatInterval: 45))
        await coordinator.didReceive(.ready(sessionId: "s1", initialSeq: 0))
        #expect(await coordinator.state == .live(sessionId: "s1"))
        await coordinator.didReceive(.heartbeatAck)
        await coordinator.didReceive(.pushEvent(seq: 17))
        #expect(await storage.load() == SessionSnapshot(sessionId: "s1", lastSeq: 17))
        #expect(await coordinator.currentSnapshot() == SessionSnapshot(sessionId: "s1", lastSeq: 17))
    }

    @Test func `A stored session is resumed and replayed`() async {
        let storage = InMemorySessionStorage(initial: SessionSnapshot(sessionId: "s1", lastSeq: 5))
        let coordinator = coordinator(storage: storage)
        let events = coordinator.events
        await coordinator.connectionDidOpen()
        let request = await socket.wire.handshakes.first
        #expect(request?.token == "token")
        guard case .resume(let id, let last) = request?.kind else {
            Issue.record("\(request as Any)")
            return
        }
        #expect((id, last) == ("s1", 5))
        await coordinator.didReceive(.resumed(replayedCount: 2, currentSeq: 7))
        #expect(await coordinator.state == .replaying(expected: 2, received: 0))
        await coordinator.didReceive(.pushEvent(seq: 6))
        await coordinator.didReceive(.pushEvent(seq: 7))
        #expect(await coordinator.state == .live(sessionId: "s1"))
        #expect(await storage.load()?.lastSeq == 7)
        await coordinator.connectionDidClose(error: URLError(.networkConnectionLost))
        #expect(await coordinator.state == .disconnected)
        var brackets: [String] = []
        for await event in events {
            switch event {
            case .replayStarted: brackets.append("started")
            case .replayFinished(let count): brackets.append("finished \(count)")
            case .stateChanged(.live): brackets.append("live")
            default: break
            }
            if brackets.count == 3 { break }
        }
        #expect(brackets == ["started", "finished 2", "live"])
    }

    @Test func `An empty replay starts, is live and finishes`() async {
        let storage = InMemorySessionStorage(initial: SessionSnapshot(sessionId: "s1", lastSeq: 5))
        let coordinator = coordinator(storage: storage)
        let events = coordinator.events
        await coordinator.connectionDidOpen()
        await coordinator.didReceive(.resumed(replayedCount: 0, currentSeq: 9))
        #expect(await storage.load()?.lastSeq == 9)
        var reported: [SessionEvent] = []
        for await event in events {
            if event != .stateChanged(.disconnected), event != .stateChanged(.handshaking) { reported.append(event) }
            if reported.count == 3 { break }
        }
        #expect(reported == [.replayStarted, .stateChanged(.live(sessionId: "s1")), .replayFinished(replayedCount: 0)])
    }

    @Test func `A session that was refused is forgotten`() async {
        let storage = InMemorySessionStorage(initial: SessionSnapshot(sessionId: "s1", lastSeq: 5))
        let coordinator = coordinator(storage: storage)
        await coordinator.connectionDidOpen()
        await coordinator.didReceive(.invalidSession(reason: "expired", resumable: false))
        #expect(await coordinator.state == .disconnected)
        #expect(await storage.load() == nil)
        await coordinator.connectionDidOpen()
        guard case .identify = await socket.wire.handshakes.last?.kind else {
            Issue.record("it resumes")
            return
        }
    }

    @Test func `After a logout the next connection identifies`() async {
        let coordinator = coordinator()
        await coordinator.connectionDidOpen()
        await coordinator.didReceive(.ready(sessionId: "s1", initialSeq: 3))
        await coordinator.clearSession()
        #expect(await coordinator.currentSnapshot() == nil)
        await coordinator.connectionDidClose(error: nil)
        await coordinator.connectionDidOpen()
        guard case .identify = await socket.wire.handshakes.last?.kind else {
            Issue.record("it resumes")
            return
        }
    }
}
