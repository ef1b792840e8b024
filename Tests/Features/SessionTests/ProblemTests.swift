import Foundation
import MeshBase
import MeshEngine
import MeshIdentity
import MeshScenarioTransport
import MeshSeries
import MeshStorage
import MeshTestSupport
import MeshTransport
import Testing

@testable import MeshSession

/// Problems that a session reports about mistakes at the call site, and the end of these reports.
@MainActor @Suite struct ProblemTests {
    let world = VirtualWorld(seed: 1)

    /// - Parameter name: the id of the peer. Sessions of this process are distinguished by their peers.
    private func session(
        _ name: String, incarnation: UInt32 = 1, sessionID: UUID = sessionID, featureID: String = "counter",
        configure: (inout CounterConfiguration) -> Void = { _ in }
    ) -> CounterSession {
        let peer = SessionPeer(
            id: name, deviceClass: .phone, appInstanceID: "\(name).1", topology: .pairedCompanion)
        return CounterSession(
            sessionID: sessionID, featureID: featureID, transport: world.transport(peer), initialState: Counter(),
            reducer: CounterReducer(), conflictPolicy: AcceptingConflictPolicy(),
            configuration: world.configuration(incarnation: incarnation, configure))
    }

    // MARK: - A missing start

    @Test(arguments: ["submit", "show", "record"])
    func `A session that was never started is a problem two seconds after its first use`(use: String) async throws {
        let session = session("unstarted")
        switch use {
        case "submit": try session.submit(.add(1))
        case "show": try session.show("milk", as: EphemeralKey("typing"))
        default: try session.record(1.0, in: Series("heart"))
        }
        await world.run(.milliseconds(1900))
        #expect(session.problems.isEmpty)
        await world.run(.milliseconds(200))
        #expect(session.problems.map(\.code) == [.notStarted])
        #expect(session.problems.first?.message == "'counter' was never started, so nothing is sent")
        session.start()
        #expect(session.problems.isEmpty)
    }

    @Test func `A session that was stopped, or is started in time, has no problem`() async throws {
        let (stopped, late) = (session("stopped"), session("late"))
        stopped.start()
        stopped.stop()
        try stopped.submit(.add(1))
        try late.submit(.add(1))
        await world.run(.seconds(1))
        late.start()
        await world.run(.seconds(4))
        #expect(stopped.problems.isEmpty && late.problems.isEmpty)
    }

    @Test func `A lobby that opens a session without being started is a problem`() async throws {
        let world = world
        let transport = world.transport(phone)
        let lobby = SessionLobby(
            featureID: "counter", name: "Phone", over: transport, configuration: world.configuration(incarnation: 1)
        ) { id, configure in
            CounterSession(
                sessionID: id, featureID: "counter", transport: transport, initialState: Counter(),
                reducer: CounterReducer(), conflictPolicy: AcceptingConflictPolicy(),
                configuration: world.configuration(incarnation: 1, configure))
        }
        await lobby.open()
        await world.run(.milliseconds(2100))
        #expect(lobby.problems.map(\.code) == [.notStarted])
        await lobby.start()
        #expect(lobby.problems.isEmpty)
    }

    #if DEBUG
        @Test func `A warning appears once per feature for a session that isn't kept in a variable`() async throws {
            let lines = Locked<[String]>([])
            func drop(after age: Duration, _ featureID: String, stops: Bool = false) async {
                var session: CounterSession? = session("dropped", featureID: featureID) {
                    $0.warn = { line in lines.withLock { $0.append(line) } }
                }
                session?.start()
                await world.run(age)
                if stops { session?.stop() }
                session = nil
                await world.run(.milliseconds(100))
            }
            await drop(after: .seconds(3), "kept")
            await drop(after: .milliseconds(500), "kept", stops: true)
            #expect(lines.withLock { $0.isEmpty })
            await drop(after: .milliseconds(500), "dropped")
            await drop(after: .milliseconds(500), "dropped")
            let reported = lines.withLock { $0 }
            #expect(reported.count == 1)
            #expect(reported.first?.hasPrefix("the session of 'dropped' was released 5") == true)
        }
    #endif

    // MARK: - IDs that differ

    @Test func `Two devices with different session IDs both report both IDs, and neither waits for the other`()
        async throws
    {
        let (first, second) = (UUID(), UUID())
        let here = session("id.here", sessionID: first)
        let there = session("id.there", incarnation: 2, sessionID: second)
        await world.meet()
        here.start()
        there.start()
        try here.submit(.add(1))
        await world.run(.milliseconds(2200))
        for (session, peer) in [(here, "id.there"), (there, "id.here")] {
            let problem = try #require(session.problems.first)
            #expect(session.problems.count == 1)
            #expect(problem.code == .sessionIDDiffers && problem.subject == peer)
            #expect(problem.message.contains(first.uuidString) && problem.message.contains(second.uuidString))
            #expect(session.status(of: peer)?.sync == .elsewhere)
        }
        there.stop()
        let mended = CounterSession(
            sessionID: first, featureID: "counter", transport: there.transport, initialState: Counter(),
            reducer: CounterReducer(), conflictPolicy: AcceptingConflictPolicy(),
            configuration: world.configuration(incarnation: 3))
        mended.start()
        await world.settle(until: { mended.state.total == 1 })
        #expect(mended.problems.isEmpty && there.problems.isEmpty)
        await world.settle(until: { here.problems.isEmpty })
        #expect(here.status(of: "id.there")?.sync != .elsewhere)
    }

    @Test func `Two devices with different feature IDs both report both IDs`() async throws {
        let here = session("feature.here", featureID: "score")
        let there = session("feature.there", incarnation: 2, featureID: "skore")
        await world.meet()
        here.start()
        there.start()
        try here.submit(.add(1))
        await world.run(.milliseconds(2200))
        for session in [here, there] {
            #expect(session.problems.map(\.code) == [.featureIDDiffers])
            let message = try #require(session.problems.first?.message)
            #expect(message.contains("'score'") && message.contains("'skore'"))
        }
        world.network.partition(
            [here.transport.localPeer], [there.transport.localPeer])
        await world.settle(until: { here.problems.isEmpty && there.problems.isEmpty })
    }

    @Test func `Devices that run several features, or several sessions of one, have no problem`() async throws {
        let document = UUID()
        let here = session("several.here", featureID: "score")
        let there = session("several.there", incarnation: 2, featureID: "score")
        func beside(_ session: CounterSession, _ featureID: String, _ id: UUID) -> CounterSession {
            CounterSession(
                sessionID: id, featureID: featureID, transport: session.transport, initialState: Counter(),
                reducer: CounterReducer(), conflictPolicy: AcceptingConflictPolicy(),
                configuration: world.configuration(incarnation: 5))
        }
        let chat = beside(here, "chat", sessionID)
        let (hereDocument, thereDocument) = (beside(here, "score", document), beside(there, "score", document))
        let sessions = [here, there, chat, hereDocument, thereDocument]
        for session in sessions { session.start() }
        await world.run(.seconds(8))
        #expect(sessions.allSatisfy { $0.problems.isEmpty })
    }

    @Test func `A device that moves on to the next session soon has no problem`() async throws {
        let (first, second) = (UUID(), UUID())
        let here = session("next.here", sessionID: second)
        let there = session("next.there", incarnation: 2, sessionID: first)
        there.start()
        await world.meet()
        here.start()
        await world.run(.seconds(1))
        there.stop()
        let next = CounterSession(
            sessionID: second, featureID: "counter", transport: there.transport, initialState: Counter(),
            reducer: CounterReducer(), conflictPolicy: AcceptingConflictPolicy(),
            configuration: world.configuration(incarnation: 3))
        next.start()
        var reported: [SessionProblem] = []
        for _ in 0..<50 {
            await world.run(.milliseconds(100))
            reported += here.problems + next.problems
        }
        #expect(reported.isEmpty)
    }

    @Test func `All running sessions and the last 256 ended ones are remembered`() {
        func place(_ number: Int?) -> StartedSessions.Place {
            let id = number.map {
                UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, UInt8($0 / 256), UInt8($0 % 256)))
            }
            return StartedSessions.Place(peerID: "bounded", featureID: "bounded", sessionID: id)
        }
        StartedSessions.begin(place(999))
        for number in 0..<400 {
            StartedSessions.begin(place(number))
            StartedSessions.end(place(number))
        }
        #expect(StartedSessions.contains(place(999)) && StartedSessions.contains(place(nil)))
        #expect(!StartedSessions.contains(place(0)), "the oldest")
        StartedSessions.end(place(999))
        #expect(StartedSessions.contains(place(999)) && StartedSessions.contains(place(nil)), "its last")
    }

    // MARK: - Lasting problems

    @Test func `A store that fails is a problem until it works`() async throws {
        let store = FailingStore()
        let session = try await world.opened(world.transport(phone), store: store)
        session.start()
        store.isFailing.withLock { $0 = true }
        try session.submit(.add(1), at: world.now)
        await world.settle(until: { session.problems.map(\.code) == [.storeFailed] })
        store.isFailing.withLock { $0 = false }
        await world.settle(until: { session.storeError == nil })
        #expect(session.problems.isEmpty)
    }

    @Test func `A device that waits for an invitation is a problem until it is invited`() async throws {
        let (here, there) = await world.pair { $0.admits = .invited }
        let third = world.session(world.transport(tablet), incarnation: 3) {
            $0.admits = .invited
            $0.waitsForInvitation = true
        }
        third.start()
        await world.settle(until: { here.problems.contains { $0.code == .notAdmitted && $0.subject == "tablet" } })
        here.invite("tablet")
        await world.settle(until: { third.isMember && here.problems.isEmpty && there.problems.isEmpty })
    }

    @Test func `A full log is a problem until it has space`() async throws {
        let configure: (inout CounterConfiguration) -> Void = { $0.engine.ownUnconfirmedMax = 8 }
        let (here, there) = await world.pair(configure: configure)
        world.network.partition([phone], [watch])
        await world.run(.seconds(1))
        for _ in 0..<8 { try here.submit(.add(1), at: world.now) }
        #expect(throws: SessionSyncError.logFull(limit: 8)) { try here.submit(.add(1), at: world.now) }
        #expect(here.problems.map(\.code) == [.logFull])
        world.network.heal()
        await world.settle(until: { there.state.total == 8 && here.problems.isEmpty })
    }

    @Test func `A closed transport is a problem`() async throws {
        let session = session("closed")
        session.start()
        await world.meet()
        await session.transport.close()
        try session.submit(.add(1))
        await world.settle(until: { session.problems.contains { $0.code == .sendFailed } })
        #expect(session.problems.first { $0.code == .sendFailed }?.message.contains("closed") == true)
    }
}
