import MeshBase
import MeshConnection
import MeshDelivery
import MeshEngine
import MeshFoundation
import MeshIdentity
import MeshKeySync
import MeshSeries
import MeshSession
import MeshStorage
import MeshTransport

/// One launch of an app with a lobby, a session, series, shown values and stored keys.
@available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
@MainActor final class LiarApp {
    private typealias Session = LobbyFeature.Session
    private typealias Lobby = LobbyFeature.Lobby

    private let name: String
    private let lobby: Lobby
    private let connection: TransportConnection
    private let router: StorageRouter
    private let failure: Locked<String?>
    private let isDead = Locked(false)

    private static let series = Series<Int>("pulse")
    private static let shown = EphemeralKey<Int>("pace")
    private static let key = StorageKey<UInt32>("plan", syncPolicy: .automaticSmall)

    /// - Parameter usesShortForms: False for an app whose messages are forged field by field.
    init(
        name: String, transport: any SessionSyncTransport & AnyObject, clock: some DeliveryClock, store: SimulatedDisk,
        seed: UInt64, usesShortForms: Bool, failure: Locked<String?>
    ) {
        self.name = name
        self.failure = failure
        let random = Locked(SplitMix64(seed: seed))
        var configuration = Lobby.Configuration(clock: clock)
        configuration.usesShortForms = usesShortForms
        configuration.incarnation = UInt32(truncatingIfNeeded: seed >> 16) | 1
        configuration.randomSeed = { random.withLock { $0.next() } }
        lobby = Lobby(
            featureID: LobbyFeature.id, name: name, over: transport, store: store, membersMax: 3,
            configuration: configuration, isOver: \.isOver
        ) { [configuration, failure, isDead] sessionID, follow in
            var configuration = configuration
            follow(&configuration)
            do {
                let session = try await Session.open(
                    sessionID: sessionID, featureID: LobbyFeature.id, transport: transport, store: store,
                    initialState: LobbyFeature.State(), reducer: LobbyFeature.Reducer(),
                    conflictPolicy: LobbyFeature.Policy(), configuration: configuration)
                // Checked here, because the next write clears the error.
                if let error = session.storeError { throw error }
                return session
            } catch {
                if !isDead.withLock({ $0 }) {
                    failure.withLock { $0 = "\(name): a session could not be opened: \(error)" }
                }
                throw error
            }
        }
        lobby.makeSessionID = {
            random.withLock { random in
                var bytes = (random.next(), random.next())
                return withUnsafeBytes(of: &bytes) { UUID(uuid: $0.load(as: uuid_t.self)) }
            }
        }
        connection = TransportConnection(transport: transport, store: store, clock: clock)
        router = StorageRouter { random.withLock { $0.next() } }
        Task { [lobby] in await lobby.start() }
        Task { await self.attachKeys() }
    }

    private func attachKeys() async {
        await router.register(Self.key)
        do {
            try await router.attach(to: connection)
        } catch {
            fail("keys could not be attached: \(error)")
        }
    }

    /// Records a failure, unless the app has died: then its store is off and rejects the app's last calls.
    private func fail(_ reason: String) {
        if !isDead.withLock({ $0 }) { failure.withLock { $0 = $0 ?? "\(name): \(reason)" } }
    }

    // MARK: - What a user does

    func open() {
        let before = lobby.invitation
        Task {
            await lobby.open()
            guard let before, lobby.invitation?.sessionID == before.sessionID else { return }
            fail("open has begun no session after \(before.number) of \(before.openedAt)")
        }
    }

    func tap(_ number: UInt32) { perform("a tap") { _ = try $0.submit(.tap(number)) } }

    func record(_ count: UInt32) {
        perform("a sample") { session in
            for sample in 0..<Int(count) { try session.record(sample, in: Self.series) }
        }
    }

    func show(_ number: UInt32) { perform("a shown value") { try $0.show(Int(number), as: Self.shown) } }

    func write(_ number: UInt32) {
        Task {
            do { try await router.set(number, for: Self.key) } catch { fail("a key was refused: \(error)") }
        }
    }

    private func perform(_ what: String, _ body: (Session) throws -> Void) {
        guard let session = lobby.session, session.phase == .running else { return }
        do {
            try body(session)
        } catch SessionSyncError.sessionEnded, SessionSyncError.sessionClosed {
            // Another device has ended the session.
        } catch {
            fail("\(what) was refused: \(error)")
        }
    }

    /// Ends the process.
    func die() {
        isDead.withLock { $0 = true }
        lobby.session?.stop()
        Task { await router.detach() }
    }

    // MARK: - What is looked at

    func view() async -> LiarView {
        let session = lobby.session
        var view = LiarView(
            name: name, sessionID: session?.sessionID, isMember: session?.isMember ?? false,
            taps: Set(session?.state.numbers ?? []),
            sampleCount: session?.seriesStatuses.reduce(0) { $0 + $1.count } ?? 0)
        if let error = lobby.storeError ?? session?.storeError { view.fault = "the store: \(error)" }
        do { view.keyNumber = try await router.get(Self.key) } catch { view.fault = "a key can't be read: \(error)" }
        return view
    }
}

/// The visible state of an app.
struct LiarView: Sendable, CustomStringConvertible {
    let name: String
    let sessionID: UUID?
    let isMember: Bool
    let taps: Set<UInt32>
    let sampleCount: Int
    var keyNumber: UInt32?
    /// The reason that the app's stored values can't be read or written.
    var fault: String?

    var description: String {
        let key = keyNumber.map { "\($0)" } ?? "none"
        let session = sessionID.map { $0.shortly } ?? "none"
        return "\(name): session \(session), \(isMember ? "member" : "no member"), taps \(taps.sorted()), "
            + "\(sampleCount) samples, key \(key)"
    }
}
