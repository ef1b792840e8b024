import MeshBase
import MeshBrokenRules
import MeshStorage
import MeshTestSupport
import Testing

@testable import MeshResume

private final class Socket: SessionTransport {
    let sent = Locked((handshakes: [HandshakeRequest](), heartbeats: [HeartbeatRequest]()))
    /// Blocks heartbeats until opened.
    let gate: Gate?

    init(gate: Gate? = nil) { self.gate = gate }

    func sendHandshake(_ request: HandshakeRequest) async throws { sent.withLock { $0.handshakes.append(request) } }

    func sendHeartbeat(_ request: HeartbeatRequest) async throws {
        sent.withLock { $0.heartbeats.append(request) }
        await gate?.pass()
    }

    var handshakes: [HandshakeRequest] { sent.withLock { $0.handshakes } }
    var heartbeatCount: Int { sent.withLock { $0.heartbeats.count } }
}

/// The actor around the core: its suspensions and its notifications.
@Suite struct CoordinatorTests {
    private let clock = ManualTime()

    private func coordinator(
        _ socket: Socket, store: any ResumeStore = InMemoryResumeStore(),
        configuration: SessionCoordinator.Configuration = .init(),
        token: @escaping @Sendable () async -> String? = { "token" }
    ) -> SessionCoordinator {
        SessionCoordinator(
            transport: socket, store: store, token: token, clientProperties: properties, configuration: configuration,
            time: clock.time, seed: 1)
    }

    @Test func `K11 a close or a second open during the token request leaves one handshake`() async {
        func handshakes() async -> Int {
            let (socket, gate) = (Socket(), Gate())
            let coordinator = coordinator(socket) {
                await gate.pass()
                return "token"
            }
            async let first: Void = coordinator.connectionDidOpen()
            async let second: Void = coordinator.connectionDidOpen()
            await eventually { gate.waiterCount == 2 }
            gate.open()
            _ = await (first, second)
            return socket.handshakes.count
        }
        #expect(await handshakes() == 1)
        if BrokenRules.areThere {
            await breaking(ResumeMutation.trustsLateReturns) { #expect(await handshakes() == 2) }
        }
    }

    @Test func `K13 heartbeat sends that never return don't hide a dead socket`() async {
        let gate = Gate()
        let socket = Socket(gate: gate)
        let coordinator = coordinator(socket)
        let events = coordinator.events
        await coordinator.connectionDidOpen()
        await coordinator.didReceive(.ready(sessionId: "s", initialSeq: 0))
        let watcher = Task {
            for await event in events {
                if case .reconnectNeeded(let reason) = event { return reason }
            }
            return .serverAsked
        }
        for count in 1...2 {
            await eventually { clock.nextDue != nil }
            clock.advance(to: clock.nextDue ?? .zero)
            await eventually { socket.heartbeatCount == count }
        }
        await eventually { clock.nextDue != nil }
        clock.advance(to: clock.nextDue ?? .zero)
        #expect(await watcher.value == .zombie(missedAcks: 2))
        #expect(await coordinator.state == .disconnected)
        gate.open()
    }

    @Test func `K16 a late subscriber starts with the current state`() async {
        func first() async -> SessionEvent? {
            let coordinator = coordinator(Socket())
            await coordinator.connectionDidOpen()
            await coordinator.didReceive(.ready(sessionId: "s", initialSeq: 0))
            let events = coordinator.events
            await coordinator.clearSession()
            for await event in events { return event }
            return nil
        }
        #expect(await first() == .stateChanged(.live(sessionId: "s")))
        if BrokenRules.areThere {
            await breaking(ResumeMutation.startsStreamsEmpty) {
                #expect(await first() == .stateChanged(.disconnected))
            }
        }
    }

    @Test func `Every subscriber gets every event in one order`() async {
        let coordinator = coordinator(Socket())
        let streams = (0..<3).map { _ in coordinator.events }
        await coordinator.connectionDidOpen()
        await coordinator.didReceive(.ready(sessionId: "s", initialSeq: 0))
        await coordinator.clearSession()
        for stream in streams {
            var reported: [SessionEvent] = []
            for await event in stream {
                reported.append(event)
                if event == .sessionCleared { break }
            }
            #expect(
                reported == [
                    .stateChanged(.disconnected), .startedFresh(.noSession), .stateChanged(.handshaking),
                    .stateChanged(.live(sessionId: "s")), .stateChanged(.disconnected), .sessionCleared,
                ])
        }
    }

    @Test func `K9 an old socket's messages don't affect a new one`() async {
        let coordinator = coordinator(Socket())
        let (old, new) = (SessionCoordinator.ConnectionID(), SessionCoordinator.ConnectionID())
        await coordinator.connectionDidOpen(old)
        await coordinator.clearSession()
        await coordinator.connectionDidOpen(new)
        #expect(await coordinator.didReceive(.ready(sessionId: "first user", initialSeq: 1), on: old) == .stale)
        await coordinator.connectionDidClose(on: old)
        #expect(await coordinator.state == .handshaking)
        #expect(await coordinator.didReceive(.ready(sessionId: "second user", initialSeq: 1), on: new) == .live)
        // Without a name it counts as the present connection's, as in the reference.
        let twin = self.coordinator(Socket())
        await twin.connectionDidOpen()
        await twin.clearSession()
        await twin.connectionDidOpen()
        #expect(await twin.didReceive(.ready(sessionId: "first user", initialSeq: 1)) == .live)
    }

    @Test func `K17 the cursor is stored after its delay or when the connection closes`() async throws {
        let store = SessionResumeStore(MemoryStore())
        let coordinator = coordinator(Socket(), store: store, configuration: .init(autoHeartbeat: false))
        await coordinator.connectionDidOpen()
        await coordinator.didReceive(.ready(sessionId: "s", initialSeq: 1))
        #expect(try await store.load()?.lastSeq == 1)
        await coordinator.didReceive(.pushEvent(seq: 2))
        await coordinator.didReceive(.pushEvent(seq: 3))
        #expect(try await store.load()?.lastSeq == 1)
        await coordinator.connectionDidClose()
        #expect(try await store.load()?.lastSeq == 3)
        #expect(await coordinator.currentSnapshot() == SessionSnapshot(sessionId: "s", lastSeq: 3))
    }

    @Test func `A coordinator is released with its last reference`() async {
        var coordinator: SessionCoordinator? = coordinator(Socket())
        weak let remembered = coordinator
        await coordinator?.connectionDidOpen()
        let events = coordinator?.events
        coordinator = nil
        await eventually { remembered == nil }
        #expect(remembered == nil)
        if let events { for await _ in events {} }
    }
}
