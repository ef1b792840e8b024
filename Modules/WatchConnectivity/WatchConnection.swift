public import Foundation
import MeshBus
public import MeshConnection
import MeshDelivery
import MeshFileTransfer
import MeshIdentity
public import MeshRequests
import MeshStorage
import MeshTransport
public import MeshWatchConnectivityTransport

#if canImport(WatchConnectivity)
    public import WatchConnectivity
#else
    public import MeshSimulatedWatch
#endif
#if canImport(Combine)
    public import Combine
#else
    public import Observation
#endif

/// The connection of a phone's app with that of its watch: typed requests, shared state, files, and how all that is
/// going.
///
/// ```swift
/// let connection = WatchConnection()
/// connection.register(FetchRecipe.self) { try await recipes.find($0.id) }
/// let recipe = try await connection.send(FetchRecipe(id: "123"))
/// ```
///
/// Make one, at launch, and keep it. It shares the session's delegate with the app's own, which is passed whatever is
/// the app's. A counterpart that still has WatchConnectivitySwift 5 is spoken to in that library's frames, until it has
/// proved that it understands more.
///
/// Lives on the main actor. Nothing that it starts keeps it alive; when it goes, its streams end.
#if !canImport(Combine)
    @Observable
#endif
@MainActor
public final class WatchConnection: NSObject {
    /// The state of the session, or why it could not be activated.
    #if canImport(Combine)
        @Published
    #endif
    public private(set) var activationState: Result<WCSessionActivationState, WatchConnectionError>
    /// Whether the session says that the counterpart takes messages now.
    #if canImport(Combine)
        @Published
    #endif
    public private(set) var isReachable: Bool
    /// How many requests wait for the counterpart. At most 256.
    #if canImport(Combine)
        @Published
    #endif
    public private(set) var pendingRequestCount = 0
    /// How many files are on their way to the counterpart.
    #if canImport(Combine)
        @Published
    #endif
    public private(set) var activeFileTransferCount = 0
    /// How the connection is, by what has come of the last sends.
    #if canImport(Combine)
        @Published
    #endif
    public private(set) var sessionHealth = SessionHealth.healthy
    #if !os(watchOS)
        /// On iOS: whether a watch is paired.
        #if canImport(Combine)
            @Published
        #endif
        public private(set) var isPaired: Bool
        /// On iOS: whether it has the app.
        #if canImport(Combine)
            @Published
        #endif
        public private(set) var isWatchAppInstalled: Bool
    #endif

    /// What the connection is bound to.
    public nonisolated let session: any WCSessionProviding
    /// Requests without the counterpart's name, to any peer of the connection's.
    public nonisolated let requests: SessionRequests
    /// Why the store that was chosen cannot be used; everything is kept in memory then. `busy` when another connection has
    /// it.
    public nonisolated let storeError: (any Error)?
    nonisolated let core: TransportConnection
    nonisolated let counterpart: CounterpartTransport
    nonisolated let multiplexer: WatchSessionMultiplexer
    let mirror: SharedStateMirror
    let waiting = Waiting()
    let holder: FilesHolder
    /// Requests and answers in the frames of WatchConnectivitySwift 5 that wait for their turn; further ones are let
    /// go.
    private static let foreignMax = 1024
    private let notices: SessionNotices
    private let mesh: LinkTransport?
    /// The one that this connection has opened, and closes.
    private let ownStore: (any SessionStore)?
    private let contexts = Topic<ReceivedContext>(bufferLimit: 64, overflow: .dropOldest)
    private let listeners = OwnedTasks()

    /// Takes its part in the session's delegate, and activates the session.
    /// - Parameters:
    ///   - encoder: writes requests and responses; not to be changed later on.
    ///   - decoder: reads them.
    public init(
        session: any WCSessionProviding = WCSession.default, encoder: JSONEncoder = JSONEncoder(),
        decoder: JSONDecoder = JSONDecoder(), configuration: Configuration = Configuration()
    ) {
        self.session = session
        let clock = configuration.clock
        let multiplexer = WatchSessionMultiplexer.of(session, clock: clock)
        let notices = SessionNotices()
        multiplexer.attach(notices)
        let port = ReferencePort(multiplexer: multiplexer, encoder: encoder, decoder: decoder, clock: clock)
        // A stand-in answers as WatchConnectivitySwift 5 does, and is not asked whether it can do more.
        let isStandIn = session is StandInSession
        let localPeer = configuration.localPeer ?? .thisDevice(isStandIn: isStandIn)
        let folder = configuration.folder ?? .sessionMesh(isStandIn: isStandIn)
        let (mesh, store, storeError) =
            isStandIn
            ? (nil, try? configuration.store.open(in: nil), nil)
            : Self.makeMesh(localPeer, session, configuration, in: session is WCSession ? folder : nil)
        let counterpart = CounterpartTransport(
            localPeer: localPeer, mesh: mesh, port: port, clock: clock, store: isStandIn ? nil : store,
            dialect: isStandIn ? .reference : nil)
        let core = TransportConnection(transport: counterpart, store: store, clock: clock)
        do {
            requests = try SessionRequests(connection: core, encoder: encoder, decoder: decoder)
        } catch {
            preconditionFailure("a new connection has requests already: \(error)")
        }
        self.core = core
        self.mesh = mesh
        ownStore = configuration.store.isOwn ? store : nil
        self.storeError = storeError
        self.notices = notices
        self.counterpart = counterpart
        self.multiplexer = multiplexer
        mirror = SharedStateMirror(port: port, keepsNotes: !isStandIn, store: store) { type, error in
            // Whoever may understand the mesh's frames gets the value in those.
            guard counterpart.dialect == .reference else { return }
            core.diagnostics.publish(
                .deliveryFailed(requestType: type, error: WatchConnectionError(error: error), willRetry: false))
        }
        let carrier = SessionFileCarrier(counterpart: counterpart, clock: clock)
        let files = folder.appendingPathComponent("Files")
        let whenCounted = WeakConnection()
        holder = FilesHolder(
            make: { try FileTransfers(connection: core, folder: files, carrier: carrier) },
            onChange: { whenCounted.connection?.countFiles() })
        activationState = .success(session.activationState)
        isReachable = session.isReachable
        #if !os(watchOS)
            isPaired = session.isPaired
            isWatchAppInstalled = session.isWatchAppInstalled
        #endif
        super.init()
        whenCounted.connection = self
        listen()
        if isStandIn {
            session.activate()
        } else if !(session is WCSession) || WCSession.isSupported() {
            openFiles(at: files)
            try? mesh?.start()
        }
    }

    /// Files may come as soon as the session is active. Those that come while the folder cannot be used, as on a full disk
    /// or a phone that has not been unlocked yet, are lost here, and sent again by a sender with this library, which has
    /// not heard that they were taken. Tried again after 1 s, doubling to 60 s.
    private func openFiles(at folder: URL, patience: Duration = .seconds(1)) {
        do {
            _ = try holder.files()
        } catch {
            guard !holder.isClosed else { return }
            core.diagnostics.publish(.fileTransferFailed(fileURL: folder, error: WatchConnectionError(error: error)))
            let clock = counterpart.clock
            clock.wake(at: clock.elapsed + patience) { [weak self] in
                Task { @MainActor in self?.openFiles(at: folder, patience: min(patience * 2, .seconds(60))) }
            }
        }
    }

    /// The mesh's own transport, not started, so that everybody who listens is there when something comes; and the store
    /// that it uses, or why it uses none.
    private static func makeMesh(
        _ localPeer: SessionPeer, _ session: any WCSessionProviding, _ configuration: Configuration, in folder: URL?
    ) -> (LinkTransport?, (any SessionStore)?, (any Error)?) {
        func make(_ store: (any SessionStore)?) throws -> LinkTransport {
            let link = WatchConnectivityLink(session, cancelsOutstanding: store != nil, clock: configuration.clock)
            return try LinkTransport(
                localPeer: localPeer, link: link, configuration: .watchConnectivity, store: store,
                clock: configuration.clock)
        }
        do {
            let store = try configuration.store.open(in: folder)
            return (try make(store), store, nil)
        } catch {
            return (try? make(nil), nil, error)
        }
    }

    /// Ends the connection, its streams and what waits, and closes the file of its store. The session goes on; when this
    /// is let go too, its delegate is the app's own again.
    public func close() async {
        listeners.cancel()
        multiplexer.detach(notices)
        notices.finish()
        contexts.finish()
        core.diagnostics.finish()
        requests.cancelAllQueuedRequests()
        waiting.end()
        await holder.close()
        await counterpart.close()
        ownStore?.close()
    }
}

extension WatchConnection {
    /// Ends it as the end of the process does: nothing is said any more, and nothing written to a file of its own.
    package func abandon() {
        listeners.cancel()
        multiplexer.detach(notices)
        ownStore?.close()
        mesh?.abandon()
    }
}

#if canImport(Combine)
    extension WatchConnection: ObservableObject {}
#endif

// MARK: - What is told

extension WatchConnection {
    /// What happens, from now on. Every call is an independent subscriber, 256 events deep; the oldest make room. Ends
    /// when the connection does.
    public var diagnosticEvents: AsyncStream<DiagnosticEvent> { core.diagnostics.subscribe() }

    /// The application contexts that come from now on, without what this library has in them. Every call is an
    /// independent subscriber, 64 contexts deep; the oldest make room. Ends when the connection does.
    public var receivedApplicationContexts: AsyncStream<[String: Any]> {
        let received = contexts.subscribe()
        return AsyncStream { await received.first { _ in true }?.content }
    }

    private func listen() {
        let (notices, events) = (notices.stream, core.diagnostics.subscribe())
        let (counts, dialects) = (requests.pendingRequestCounts(), counterpart.dialects.subscribe())
        let (core, diagnostics, mirror) = (core, core.diagnostics, mirror)
        let (foreign, continuation) = AsyncStream.makeStream(
            of: AnySessionSyncEnvelope.self, bufferingPolicy: .bufferingOldest(Self.foreignMax))
        listeners.hold([
            Task { [weak self] in for await notice in notices { self?.take(notice) } },
            Task { [weak self] in
                for await event in events {
                    if case .healthChanged(_, let health) = event { self?.sessionHealth = health }
                }
            },
            Task { [weak self] in for await count in counts { self?.pendingRequestCount = count } },
            Task { for await dialect in dialects { mirror.turn(on: dialect != .mesh) } },
            Task { [weak core] in for await envelope in foreign { await core?.pass(envelope) } },
        ])
        counterpart.open(
            deliver: { _ = continuation.yield($0) },
            onStates: { [weak mirror] states, areNew in
                Task { @MainActor in mirror?.take(states, areNew: areNew) }
            },
            onIncompatible: { type, reason in
                diagnostics.publish(
                    .deliveryFailed(requestType: type, error: .incompatiblePeer(reason: reason), willRetry: false))
            })
    }

    private func take(_ notice: SessionNotices.Notice) {
        switch notice {
        case .context(let context, let isNewForApp):
            core.diagnostics.publish(.applicationContextReceived)
            if isNewForApp, context.isForApp { contexts.publish(context) }
        case .event(let event, let state):
            take(event, state)
            if state.activationState == .activated { mirror.open() }
            isReachable = state.isReachable
            #if !os(watchOS)
                isPaired = state.isPaired
                isWatchAppInstalled = state.isWatchAppInstalled
            #endif
            waiting.look()
        }
    }

    private func take(_ event: WatchSessionEvent, _ state: WCSessionState) {
        let diagnostics = core.diagnostics
        if isReachable != state.isReachable {
            diagnostics.publish(.reachabilityChanged(isReachable: state.isReachable))
        }
        switch event {
        case .activated(let error?): activationState = .failure(WatchConnectionError(error: error))
        case .activated(nil):
            activationState = .success(state.activationState)
            if state.activationState == .activated { diagnostics.publish(.sessionActivated) }
        case .becameInactive:
            activationState = .success(.inactive)
            diagnostics.publish(.sessionBecameInactive)
        case .deactivated:
            activationState = .success(.notActivated)
            diagnostics.publish(.sessionDeactivated)
        case .reachabilityChanged, .counterpartChanged, .stateChanged: break
        }
    }

    func countRequests() { pendingRequestCount = requests.pendingRequestCount }
    func countFiles() { activeFileTransferCount = holder.made?.outstandingFileTransfers.count ?? 0 }
}

@MainActor
private final class WeakConnection {
    weak var connection: WatchConnection?
}
