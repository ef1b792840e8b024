public import Foundation
import MeshBase
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
/// Make one, at launch, and keep it. All that are made for one session share what they have: the first one's
/// configuration and coders, handlers, requests that wait, files and states. A connection shares the session's delegate with the app's own, which is passed whatever is
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
    /// The number of requests that wait for the counterpart. At most 256.
    #if canImport(Combine)
        @Published
    #endif
    public private(set) var pendingRequestCount = 0
    /// The number of files that are on their way to the counterpart.
    #if canImport(Combine)
        @Published
    #endif
    public private(set) var activeFileTransferCount = 0
    /// The health of the connection, judged by the last sends.
    #if canImport(Combine)
        @Published
    #endif
    public private(set) var sessionHealth = SessionHealth.healthy
    #if !os(watchOS)
        /// Whether a watch is paired. Meaningful on iOS only.
        #if canImport(Combine)
            @Published
        #endif
        public private(set) var isPaired: Bool
        /// Whether the paired watch has the app. Meaningful on iOS only.
        #if canImport(Combine)
            @Published
        #endif
        public private(set) var isWatchAppInstalled: Bool
    #endif

    /// The session that the connection uses.
    public nonisolated let session: any WCSessionProviding
    /// Requests without the counterpart's name, to any peer of the connection's.
    public nonisolated let requests: SessionRequests
    /// Why the store that was chosen cannot be used; everything is kept in memory then. `busy` when another connection has
    /// it.
    public nonisolated let storeError: (any Error)?
    nonisolated let core: TransportConnection
    nonisolated let counterpart: CounterpartTransport
    nonisolated let multiplexer: WatchSessionMultiplexer
    let waiting = Waiting()
    var holder: FilesHolder { channel.holder }
    let channel: WatchChannel
    private let notices: SessionNotices
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
        let channel = WatchChannel.of(session, encoder: encoder, decoder: decoder, configuration: configuration)
        self.channel = channel
        multiplexer = channel.multiplexer
        core = channel.core
        counterpart = channel.counterpart
        requests = channel.requests
        storeError = channel.storeError
        notices = SessionNotices()
        multiplexer.attach(notices)
        activationState = .success(session.activationState)
        isReachable = session.isReachable
        #if !os(watchOS)
            isPaired = session.isPaired
            isWatchAppInstalled = session.isWatchAppInstalled
        #endif
        super.init()
        channel.join(self)
        listen()
        channel.start()
    }

    /// Ends the connection; the last one of its session ends the streams and what waits, and closes the file of the store.
    /// The session goes on; when this is let go too, its delegate is the app's own again.
    public func close() async {
        listeners.cancel()
        multiplexer.detach(notices)
        notices.finish()
        contexts.finish()
        waiting.end()
        await channel.leave(self)
    }
}

extension WatchConnection {
    /// Ends it as the end of the process does: nothing is said any more, and nothing written to a file of its own.
    package func abandon() {
        listeners.cancel()
        multiplexer.detach(notices)
        channel.abandon()
    }
}

#if canImport(Combine)
    extension WatchConnection: ObservableObject {}
#endif

// MARK: - What is told

extension WatchConnection {
    /// The connection's events from now on. Every access is an independent subscription that buffers 256 events and
    /// drops the oldest. Ends when the last connection of the session does.
    public var diagnosticEvents: AsyncStream<DiagnosticEvent> { core.diagnostics.subscribe() }

    /// The application contexts that come from now on, without what this library has in them. Every call is an
    /// independent subscriber, 64 contexts deep; the oldest make room. Ends when the connection does.
    public var receivedApplicationContexts: AsyncStream<[String: Any]> {
        let received = contexts.subscribe()
        return AsyncStream { await received.first { _ in true }?.content }
    }

    private func listen() {
        let (notices, events) = (notices.stream, core.diagnostics.subscribe())
        let counts = requests.pendingRequestCounts()
        listeners.hold([
            Task { [weak self] in for await notice in notices { self?.take(notice) } },
            Task { [weak self] in
                for await event in events {
                    if case .healthChanged(_, let health) = event { self?.sessionHealth = health }
                }
            },
            Task { [weak self] in for await count in counts { self?.pendingRequestCount = count } },
        ])
    }

    private func take(_ notice: SessionNotices.Notice) {
        switch notice {
        case .context(let context, let isNewForApp):
            core.diagnostics.publish(.applicationContextReceived)
            if isNewForApp, context.isForApp { contexts.publish(context) }
        case .event(let event, let state):
            take(event, state)
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
