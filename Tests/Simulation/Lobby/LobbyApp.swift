import MeshBase
import MeshDelivery
import MeshEngine
import MeshFoundation
import MeshIdentity
import MeshScenarioTransport
import MeshSession
import MeshStorage
import MeshTransport

/// One launch of an app that has a lobby.
@available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
final class LobbyApp: Sendable {
    typealias Lobby = LobbyFeature.Lobby
    typealias Session = LobbyFeature.Session

    let device: Int
    let ledger: LobbyLedger
    private let log: @Sendable (String) -> Void
    private let lobby = Locked<Lobby?>(nil)
    /// All sessions that the lobby has opened.
    private let sessions = Locked<[Session]>([])
    /// Calls of the lobby that haven't returned.
    private let calls = Locked<[String: Int]>([:])
    private let hasCrashed = Locked(false)
    /// The IDs of taps that no other device is known to hold.
    private let unsettled = Locked<[(number: UInt32, session: UUID, id: UUID)]>([])

    /// - Parameter seed: Must differ between launches.
    @MainActor init(
        device: Int, transport: any SessionSyncTransport, clock: some DeliveryClock, store: SimulatedDisk?,
        membersMax: Int, seed: UInt64, ledger: LobbyLedger,
        log: @escaping @Sendable (String) -> Void
    ) {
        self.device = device
        self.ledger = ledger
        self.log = log
        let random = Locked(SplitMix64(seed: seed))
        var configuration = Lobby.Configuration()
        configuration.audience = .everyPeer
        configuration.incarnation = UInt32(truncatingIfNeeded: seed >> 16) | 1
        configuration.catchUpTime = .zero
        configuration.measure = { work in
            work()
            return .zero
        }
        configuration.randomSeed = { random.withLock { $0.next() } }
        configuration.now = { clock.wall }
        configuration.uptime = { clock.elapsed }
        configuration.wait = { try await clock.wait($0) }
        let lobby = Lobby(
            featureID: LobbyFeature.id, name: LobbySchedule.name(of: device), over: transport, store: store,
            membersMax: membersMax,
            configuration: configuration, isOver: \.isOver
        ) { [sessions, configuration] sessionID, follow in
            var configuration = configuration
            follow(&configuration)
            let session = try await Session.open(
                sessionID: sessionID, featureID: LobbyFeature.id, transport: transport,
                store: store, initialState: LobbyFeature.State(), reducer: LobbyFeature.Reducer(),
                conflictPolicy: LobbyFeature.Policy(), configuration: configuration)
            sessions.withLock { $0.append(session) }
            return session
        }
        lobby.makeSessionID = {
            random.withLock { random in
                var bytes = (random.next(), random.next())
                return withUnsafeBytes(of: &bytes) { UUID(uuid: $0.load(as: uuid_t.self)) }
            }
        }
        lobby.onChange = { [weak lobby, ledger] change in
            guard let lobby, ![.devices, .observed].contains(change) else { return }
            if change == .storeFailed { ledger.fail("store: \(lobby.storeError.map { "\($0)" } ?? "-")") }
            log("\(change) \(lobby.invitation?.shortly ?? "-")")
        }
        self.lobby.withLock { $0 = lobby }
        call("start") { await $0.start() }
    }

    // MARK: - User actions

    @MainActor func open() {
        call("open") { [ledger] lobby in
            let before = lobby.invitation?.number ?? 0
            await lobby.open()
            if (lobby.invitation?.number ?? 0) <= before { ledger.fail("open hasn't taken over") }
        }
    }

    @MainActor func tap(_ number: UInt32) {
        guard let session = lobby.withLock({ $0 })?.session else { return }
        do {
            let tap = try session.submit(.tap(number))
            ledger.add(number, to: session.sessionID, on: device)
            unsettled.withLock { $0.append((number, session.sessionID, tap.metadata.eventID)) }
            log("taps \(number) in \(session.sessionID.shortly)")
        } catch SessionSyncError.sessionEnded, SessionSyncError.sessionClosed {
            log("the session is over")
        } catch {
            ledger.fail("submit threw \(error)")
        }
    }

    /// - Returns: True if the peer was invited.
    @MainActor func invite(_ peerID: String) -> Bool {
        do {
            try lobby.withLock { $0 }?.invite(peerID)
            return true
        } catch {
            log("\(error)")
            return false
        }
    }

    @MainActor func end() {
        guard let session = lobby.withLock({ $0 })?.session, session.phase == .running, !session.hasEnded else {
            return
        }
        ledger.end(session.sessionID, on: device)
        call("close") { [ledger] _ in
            do { try await session.close(with: .end) } catch { ledger.fail("close threw \(error)") }
        }
    }

    @MainActor private func call(_ name: String, _ body: @escaping @MainActor (Lobby) async -> Void) {
        guard let lobby = lobby.withLock({ $0 }) else { return }
        calls.withLock { $0[name, default: 0] += 1 }
        Task { @MainActor [calls] in
            await body(lobby)
            calls.withLock { $0[name, default: 0] -= 1 }
        }
    }

    /// Ends the process.
    @MainActor func crash() {
        hasCrashed.withLock { $0 = true }
        for session in sessions.withLock({ $0 }) { session.stop() }
        sessions.withLock { $0 = [] }
        let lobby = lobby.withLock { $0.take() }
        lobby?.onChange = { _ in }
    }

    // MARK: - Observations

    @MainActor func noteTaps() {
        guard !unsettled.withLock({ $0.isEmpty }), !hasCrashed.withLock({ $0 }) else { return }
        for (number, sessionID, id) in unsettled.withLock({ $0 }) {
            let session = sessions.withLock { $0 }.last { $0.sessionID == sessionID }
            switch session?.delivery(of: id).step {
            case .accepted, .sent: ledger.note(number, in: sessionID, .stored)
            case .held, .confirmed:
                ledger.note(number, in: sessionID, .held)
                unsettled.withLock { $0.removeAll { $0.number == number } }
            case .unknown, .submitted, nil: break
            }
        }
    }

    @MainActor var view: LobbyView? {
        guard let lobby = lobby.withLock({ $0 }) else { return nil }
        let hanging = calls.withLock { $0 }.filter { $0.value > 0 }.keys.sorted()
        let others = sessions.withLock { $0 }.filter { $0 !== lobby.session && $0.phase == .running }
        return LobbyView(
            device: device, invitation: lobby.invitation, part: lobby.part, hanging: hanging,
            runningElsewhere: others.map(\.sessionID.shortly), observed: lobby.observed,
            session: lobby.session.map { session in
                LobbyView.Session(
                    id: session.sessionID, state: session.state, isMember: session.isMember,
                    memberIDs: session.memberIDs, hasEnded: session.hasEnded, isClosed: session.phase == .closed)
            })
    }
}

/// The visible state of a device.
struct LobbyView: Sendable {
    struct Session: Sendable {
        let id: UUID
        let state: LobbyFeature.State
        let isMember: Bool
        let memberIDs: [String]
        let hasEnded: Bool
        let isClosed: Bool
    }

    let device: Int
    let invitation: SessionInvitation?
    let part: SessionPart
    /// Calls that haven't returned.
    let hanging: [String]
    let runningElsewhere: [String]
    let observed: ObservedSession<LobbyFeature.State>?
    let session: Session?

    var name: String { LobbySchedule.name(of: device) }
}

extension SessionInvitation {
    var shortly: String {
        let late = latecomers.map { " and late \($0.map(\.description).joined(separator: " "))" } ?? ""
        return "\(number) \(sessionID.shortly) [\(members.map(\.description).joined(separator: " "))\(late)]"
    }

    var peerIDs: Set<String> { Set((members + (latecomers ?? [])).map(\.peerID)) }
}

extension UUID {
    var shortly: String { String(uuidString.prefix(8)) }
}
