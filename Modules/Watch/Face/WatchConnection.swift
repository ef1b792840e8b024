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

/// The connection between a phone app and its watch app: typed requests, shared state, files and diagnostics.
///
/// ```swift
/// let connection = WatchConnection()
/// connection.register(FetchRecipe.self) { try await recipes.find($0.id) }
/// let recipe = try await connection.send(FetchRecipe(id: "123"))
/// ```
///
/// Create one at launch and keep it. All connections of one session share the first one's configuration and coders, and
/// also handlers, pending requests, files and states.
///
/// A connection shares the session's delegate with the app: calls that don't concern this library reach the app's own
/// delegate. A counterpart that runs WatchConnectivitySwift 5 is addressed in that library's frames, until it proves
/// that it understands newer ones.
///
/// Isolated to the main actor. Tasks that the connection starts don't keep it alive. When it is released, its streams
/// end.
#if !canImport(Combine)
    @Observable
#endif
@MainActor
public final class WatchConnection: NSObject {
    /// The activation state of the session, or the error that prevented activation.
    #if canImport(Combine)
        @Published
    #endif
    public private(set) var activationState: Result<WCSessionActivationState, WatchConnectionError>
    /// True if the session reports that the counterpart accepts messages now.
    #if canImport(Combine)
        @Published
    #endif
    public private(set) var isReachable: Bool
    /// The number of requests that wait for the counterpart, at most 256.
    #if canImport(Combine)
        @Published
    #endif
    public private(set) var pendingRequestCount = 0
    /// The number of files being sent to the counterpart.
    #if canImport(Combine)
        @Published
    #endif
    public private(set) var activeFileTransferCount = 0
    /// The health of the connection, judged by the latest sends.
    #if canImport(Combine)
        @Published
    #endif
    public private(set) var sessionHealth = SessionHealth.healthy
    #if !os(watchOS)
        /// True if a watch is paired. Meaningful on iOS only.
        #if canImport(Combine)
            @Published
        #endif
        public private(set) var isPaired: Bool
        /// True if the app is installed on the paired watch. Meaningful on iOS only.
        #if canImport(Combine)
            @Published
        #endif
        public private(set) var isWatchAppInstalled: Bool
    #endif

    /// The session that the connection uses.
    public nonisolated let session: any WCSessionProviding
    /// The connection's requests feature, which can address any of its peers.
    public nonisolated let requests: SessionRequests
    /// The error that made the configured store unusable, so that everything is kept in memory; nil if it works. `busy`
    /// means that another connection uses the store.
    public nonisolated let storeError: (any Error)?
    nonisolated let core: TransportConnection
    nonisolated let counterpart: CounterpartTransport
    nonisolated let multiplexer: WatchSessionMultiplexer
    let waiters = ConditionWaiters()
    var holder: FilesHolder { channel.holder }
    let channel: WatchChannel
    private let notices: SessionNotices
    private let contexts = Topic<ReceivedContext>(bufferLimit: 64, overflow: .dropOldest)
    private let listeners = OwnedTasks()

    /// Creates a connection, takes the session's delegate slot and activates the session.
    /// - Parameters:
    ///   - encoder: Writes requests and responses. Don't change it afterwards.
    ///   - decoder: Reads requests and responses.
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

    /// Closes the connection for good. The session's last connection also ends the streams and pending requests, and
    /// closes its store file. The session itself stays active. Once the connection is released, the app's own delegate
    /// is the session's delegate again.
    public func close() async {
        listeners.cancel()
        multiplexer.detach(notices)
        notices.finish()
        contexts.finish()
        waiters.end()
        await channel.leave(self)
    }
}

extension WatchConnection {
    /// Stops as if the process had been killed: sends no goodbye and writes nothing to its store file.
    package func abandon() {
        listeners.cancel()
        multiplexer.detach(notices)
        channel.abandon()
    }
}

#if canImport(Combine)
    extension WatchConnection: ObservableObject {}
#endif

// MARK: - Events

extension WatchConnection {
    /// The events of the connection from now on. Each access is an independent subscription that buffers 256 events and
    /// drops the oldest. Ends when the last connection of the session closes.
    public var diagnosticEvents: AsyncStream<DiagnosticEvent> { core.diagnostics.subscribe() }

    /// The application contexts received from now on, without this library's keys. Each access is an independent
    /// subscription that buffers 64 contexts and drops the oldest. Ends when the connection closes.
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
            waiters.recheck()
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
