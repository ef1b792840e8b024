import Foundation
import MeshBase
import MeshEngine
import MeshIdentity
import MeshScenarioTransport
import MeshStorage
import MeshTransport
import Testing

@testable import MeshSession

/// A feature that counts, and refuses to go below zero.
private struct Steps: SessionFeature {
    static let featureID = "steps"
    static let version = 3
    struct State: Codable, Sendable, Equatable {
        var count = 0
        var order: [Int] = []
    }
    enum Event: Codable, Sendable {
        case up(Int)
        case down
    }
    let initialState = State()

    func reduce(state: inout State, event: Event, context: SessionEventContext) {
        switch event {
        case .up(let number):
            state.count += 1
            state.order.append(number)
        case .down: state.count -= 1
        }
    }

    func shouldApply(event: Event, context: SessionConflictContext<State>) -> Bool {
        if case .down = event { context.state.count > 0 } else { true }
    }
}

@MainActor @Suite struct SharedSessionTests {
    private let network = ScenarioNetwork(seed: 27)

    private func peer(_ name: String) -> SessionPeer {
        SessionPeer(id: name, deviceClass: .phone, appInstanceID: name, topology: .pairedCompanion)
    }

    private func shared(
        _ name: String, store: @autoclosure @escaping @Sendable () throws -> (any SessionStore)? = nil
    ) -> SharedSession<Steps> {
        SharedSession(
            Steps(), over: network.makeTransport(localPeer: peer(name)), store: try store(),
            configuration: .init(clock: network.clock))
    }

    @Test func `two shared sessions of a feature share one state, with what was sent before they opened`() async throws
    {
        let (phone, watch) = (shared("phone"), shared("watch"))
        #expect(phone.phase == .opening)
        #expect(phone.state == Steps.State())
        for number in 1...5 { phone.send(.up(number)) }
        #expect(phone.state == Steps.State(), "the events wait")
        watch.send(.up(6))
        try await network.run { watch.state.count == 6 && phone.state == watch.state }
        #expect(phone.state.order.filter { $0 < 6 } == [1, 2, 3, 4, 5])
        #expect(phone.problems.isEmpty && watch.problems.isEmpty)
        #expect(phone.session?.configuration.reducerVersion == 3)
    }

    @Test func `a store that can't be opened is a problem until a retry opens it`() async throws {
        let isBroken = Locked(true)
        let store = MemoryStore()
        @Sendable func open() throws -> (any SessionStore)? {
            if isBroken.withLock({ $0 }) { throw StorageError(.full, "the disk is full") }
            return store
        }
        let game = shared("phone", store: try open())
        game.send(.up(1))
        try await network.run { game.phase == .failed }
        #expect(game.problems.map(\.code) == [.openingFailed])
        #expect(game.problems.first?.errorDescription?.contains("waiting events lost: 1") == true)
        game.send(.up(2))
        #expect(game.problems.map(\.code) == [.openingFailed, .eventRefused])

        isBroken.withLock { $0 = false }
        game.retry()
        try await network.run { game.phase == .ready }
        #expect(game.problems.map(\.code) == [.eventRefused])
        game.send(.up(3))
        #expect(game.state.order == [3])
        #expect(game.problems.isEmpty)
        await game.close()
        game.send(.up(4))
        #expect(game.problems.map(\.code) == [.eventRefused])
    }

    @Test func `events that wait when a session is closed are stored`() async throws {
        let store = MemoryStore()
        let game = shared("phone", store: store)
        for number in 1...2 { game.send(.up(number)) }
        await game.close()
        #expect(game.phase == .closed && game.problems.isEmpty)
        let again = shared("phone", store: store)
        try await network.run { again.phase == .ready }
        #expect(again.state.order == [1, 2])
    }

    @Test func `more events than may wait are refused`() async throws {
        let game = shared("phone")
        for number in 0..<SharedSession<Steps>.waitingMax { game.send(.up(number)) }
        #expect(game.problems.isEmpty)
        game.send(.up(-1))
        #expect(game.problems.map(\.code) == [.eventRefused])
        try await network.run { game.phase == .ready }
        #expect(game.state.order == Array(0..<SharedSession<Steps>.waitingMax))
    }

    @Test func `a feature's own policy refuses an event`() async throws {
        let game = shared("phone")
        game.send(.down)
        try await network.run { game.phase == .ready }
        #expect(game.state.count == 0)
    }

    @Test func `waiting for a state ends with the state, the time, or the session`() async throws {
        let game = shared("phone")
        try await network.run { game.phase == .ready }
        let session = try #require(game.session)
        #expect(try await session.state { $0.count == 0 }.order == [])

        let reached = Task { try await session.state { $0.count == 2 } }
        game.send(.up(1))
        game.send(.up(2))
        await network.run(for: .seconds(1))
        #expect(try await reached.value.order == [1, 2])

        let late = Task { try await session.state(within: .seconds(5)) { $0.count == 3 } }
        await network.run(for: .seconds(6))
        let timeout = await #expect(throws: SessionStateTimeout.self) { try await late.value }
        #expect(timeout?.limit == .seconds(5))
        #expect(timeout?.localizedDescription.contains("order: [1, 2]") == true)

        let closed = Task { try await session.state { $0.count == 3 } }
        await network.run(for: .milliseconds(100))
        await game.close()
        await #expect(throws: SessionSyncError.sessionClosed) { try await closed.value }
    }

    @Test func `a transport that can't start is a problem, and start tries again`() async throws {
        let isBroken = Locked(true)
        let transport = Unstartable(wrapped: network.makeTransport(localPeer: peer("phone")), isBroken: isBroken)
        let session = SessionOf<Steps>(
            Steps(), sessionID: UUID(), over: transport, configuration: .init(clock: network.clock))
        session.start()
        #expect(session.problems.map(\.code) == [.transportFailed])
        isBroken.withLock { $0 = false }
        session.start()
        #expect(session.problems.isEmpty)
    }
}

private struct Unstartable: TransportWrapper {
    let wrapped: any SessionSyncTransport
    let isBroken: Locked<Bool>

    func start() throws {
        if isBroken.withLock({ $0 }) { throw StorageError(.full, "no room") }
        try wrapped.start()
    }
}
