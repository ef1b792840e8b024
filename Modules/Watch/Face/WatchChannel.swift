import Foundation
import MeshBase
import MeshConnection
import MeshDelivery
import MeshFileTransfer
import MeshIdentity
import MeshRequests
import MeshSharedState
import MeshStorage
import MeshTransport
import MeshWatchConnectivityTransport

#if canImport(WatchConnectivity)
    import WatchConnectivity
#else
    import MeshSimulatedWatch
#endif

/// The part that all `WatchConnection`s of one session share. Apps that used WatchConnectivitySwift create a connection
/// in each of their classes, but a session has one counterpart, one context and one store.
///
/// The first connection's configuration and coders are used. A handler registered on any connection answers for all.
/// The channel lives while a connection or a shared state references it.
@MainActor
final class WatchChannel {
    nonisolated let session: any WCSessionProviding
    nonisolated let multiplexer: WatchSessionMultiplexer
    nonisolated let core: TransportConnection
    nonisolated let counterpart: CounterpartTransport
    nonisolated let requests: SessionRequests
    nonisolated let storeError: (any Error)?
    let mirror: SharedStateMirror
    let holder: FilesHolder
    /// Maximum number of WatchConnectivitySwift 5 requests and answers that wait for processing. Later ones are
    /// dropped.
    private static let foreignMax = 1024
    private let mesh: LinkTransport?
    private let files: URL
    private var hasStarted = false
    /// The store that this channel opened and must close; nil if the app passed its own.
    private let ownStore: (any SessionStore)?
    private let listeners = OwnedTasks()
    private var users: [User] = []

    private struct User {
        weak var connection: WatchConnection?
    }

    private init(
        _ session: any WCSessionProviding, _ encoder: JSONEncoder, _ decoder: JSONDecoder,
        _ configuration: WatchConnection.Configuration
    ) {
        self.session = session
        let clock = configuration.clock
        let multiplexer = WatchSessionMultiplexer.of(session, clock: clock)
        let port = ReferencePort(multiplexer: multiplexer, decoder: decoder, clock: clock)
        // A stand-in behaves like WatchConnectivitySwift 5, so its dialect is known.
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
            preconditionFailure("a new connection already has requests: \(error)")
        }
        self.core = core
        self.mesh = mesh
        ownStore = configuration.store.isOwn ? store : nil
        self.storeError = storeError
        self.counterpart = counterpart
        self.multiplexer = multiplexer
        mirror = SharedStateMirror(
            port: port, keepsNotes: !isStandIn, store: store,
            onRefusal: { type, error in
                // A counterpart that may speak the mesh's frames gets the value in those.
                guard counterpart.dialect == .reference else { return }
                core.diagnostics.publish(
                    .deliveryFailed(requestType: type, error: WatchConnectionError(error: error), willRetry: false))
            }, onFallback: { core.diagnostics.publish(.requestEncodingFailed(requestType: $0)) })
        let carrier = SessionFileCarrier(counterpart: counterpart, clock: clock)
        let files = folder.appendingPathComponent("Files")
        self.files = files
        let channelReference = WeakChannel()
        holder = FilesHolder(
            make: { try FileTransfers(connection: core, folder: files, carrier: carrier) },
            onChange: { channelReference.channel?.countFiles() })
        channelReference.channel = self
        if let storeError {
            core.board.report(.storeFailed(of: "store", "the connection's store can't be used", storeError))
        }
        listen()
    }

    /// Activates the session. Call it once the listeners are attached.
    func start() {
        if session is StandInSession { return session.activate() }
        guard !hasStarted, !(session is WCSession) || WCSession.isSupported() else { return }
        hasStarted = true
        openFiles(at: files)
        if let mesh { core.board.start(mesh) }
    }

    // MARK: One for each session

    private struct Entry {
        weak var channel: WatchChannel?
    }

    private static var all: [ObjectIdentifier: Entry] = [:]

    /// Returns the session's channel, which is created on first use.
    static func of(
        _ session: any WCSessionProviding, encoder: JSONEncoder, decoder: JSONDecoder,
        configuration: WatchConnection.Configuration
    ) -> WatchChannel {
        let key = ObjectIdentifier(session)
        if let channel = all[key]?.channel { return channel }
        all = all.filter { $0.value.channel != nil }
        let channel = WatchChannel(session, encoder, decoder, configuration)
        all[key] = Entry(channel: channel)
        return channel
    }

    func join(_ connection: WatchConnection) { users.append(User(connection: connection)) }

    /// Removes a connection. The last one closes the channel.
    func leave(_ connection: WatchConnection) async {
        users.removeAll { $0.connection == nil || $0.connection === connection }
        holder.setHandler(nil, of: connection)
        guard users.isEmpty else { return }
        forget()
        listeners.cancel()
        core.diagnostics.finish()
        requests.cancelAllQueuedRequests()
        await holder.close()
        await counterpart.close()
        ownStore?.close()
    }

    /// Stops without a goodbye, as if the process had been killed.
    func abandon() {
        forget()
        listeners.cancel()
        ownStore?.close()
        mesh?.abandon()
    }

    /// Removes the channel from the registry, so that the session's next connection creates a new one.
    private func forget() {
        let key = ObjectIdentifier(session)
        if Self.all[key]?.channel === self { Self.all[key] = nil }
    }

    private func countFiles() { for user in users { user.connection?.countFiles() } }

    // MARK: Events

    private func listen() {
        let dialects = counterpart.dialects.subscribe()
        let (core, diagnostics, mirror) = (core, core.diagnostics, mirror)
        let (foreign, continuation) = AsyncStream.makeStream(
            of: AnySessionSyncEnvelope.self, bufferingPolicy: .bufferingOldest(Self.foreignMax))
        listeners.hold([
            Task { for await dialect in dialects { mirror.setEnabled(dialect != .mesh) } },
            Task { [weak core] in for await envelope in foreign { await core?.pass(envelope) } },
        ])
        counterpart.open(
            deliver: { _ = continuation.yield($0) },
            onStates: { [weak mirror] states, areNew in
                Task { @MainActor in mirror?.take(states, areNew: areNew) }
            },
            onSession: { [weak mirror] in Task { @MainActor in mirror?.open() } },
            onContextWritten: { [weak mirror] error in
                let error = error.map { WatchConnectionError(error: $0) }
                if let error {
                    diagnostics.publish(
                        .deliveryFailed(requestType: "application context", error: error, willRetry: true))
                }
                Task { @MainActor in mirror?.contextWriteFinished(error) }
            },
            onIncompatible: { type, reason in
                diagnostics.publish(
                    .deliveryFailed(requestType: type, error: .incompatiblePeer(reason: reason), willRetry: false))
            })
    }

    /// Creates the file transfers, because files may arrive as soon as the session is active.
    ///
    /// If the folder is unusable, for example on a full disk or before the phone's first unlock, retries after 1 s,
    /// doubling to 60 s. Files that arrive meanwhile are lost here. A sender with this library sends them again,
    /// because it got no acknowledgement.
    private func openFiles(at folder: URL, after backoff: Backoff = Backoff(from: .seconds(1), to: .seconds(60))) {
        do {
            _ = try holder.files()
        } catch {
            guard !holder.isClosed else { return }
            core.diagnostics.publish(.fileTransferFailed(fileURL: folder, error: WatchConnectionError(error: error)))
            let clock = counterpart.clock
            var backoff = backoff
            clock.wake(at: clock.elapsed + backoff.next()) { [weak self, backoff] in
                Task { @MainActor in self?.openFiles(at: folder, after: backoff) }
            }
        }
    }

    /// Creates the mesh's transport and its store. If the store fails, the transport works without it, and the error is
    /// returned. Start the transport after attaching the listeners.
    private static func makeMesh(
        _ localPeer: SessionPeer, _ session: any WCSessionProviding, _ configuration: WatchConnection.Configuration,
        in folder: URL?
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
}

@MainActor
private final class WeakChannel {
    weak var channel: WatchChannel?
}

// Shared states and the app's own features use the channel as a connection.
extension WatchChannel: ConnectionWrapper {
    nonisolated var wrapped: any SessionConnection { core }
}
