import MeshBus
import MeshDelivery
import MeshEngine
import MeshIdentity
import MeshSession
import MeshSimulatedWatch
import MeshStorage
import MeshTransport
import MeshWatchConnectivityTransport

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// One life of an app that shows a session.
@available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
final class SessionWatchApp: Sendable {
    typealias Session = SyncedSession<[UInt32], ListFeature.Event, ListFeature.Reducer, ListFeature.Policy>

    /// What a device keeps over its app's lives.
    struct Stores: Sendable {
        let transport = MemoryStore()
        let session = MemoryStore()
    }

    let clock: AppClock
    private let transport: WatchConnectivitySessionSyncTransport
    private let session = Locked<Session?>(nil)
    private let isDead = Locked(false)
    private let failure: Locked<String?>

    init(
        device: Int, session: WCSession, stores: Stores?, clock: AppClock, seed: UInt64, failure: Locked<String?>
    ) throws {
        self.clock = clock
        self.failure = failure
        var configuration = DeliveryConfiguration.watchConnectivity
        configuration.seed = seed
        transport = try WatchConnectivitySessionSyncTransport(
            localPeer: WatchApp.peer(device), session: session, store: stores?.transport, configuration: configuration,
            clock: clock)
        Task { @MainActor in await self.open(stores?.session, seed) }
    }

    private static let sessionID = UUID(uuid: (0x5E, 0x55, 0x10, 0, 0, 0, 0x80, 0, 0x80, 0, 0, 0, 0, 0, 0, 10))

    @MainActor private func open(_ store: MemoryStore?, _ seed: UInt64) async {
        var configuration = SyncedSessionConfiguration<[UInt32], ListFeature.Event>()
        configuration.store = store
        configuration.incarnation = UInt32(truncatingIfNeeded: seed >> 16) | 1
        // Copies here are small: every second life gives them in pieces all the same.
        if seed >> 33 & 1 == 0 { configuration.copyMessageBytesMax = 40 }
        let random = Locked(SplitMix64(seed: seed))
        configuration.randomSeed = { random.withLock { $0.next() } }
        configuration.now = { [clock] in clock.wall }
        configuration.wait = { [clock] in try await clock.wait($0) }
        do {
            let session = try await Session.open(
                sessionID: Self.sessionID, featureID: ListFeature.id, transport: transport,
                initialState: ListFeature.initialState, reducer: ListFeature.reducer,
                conflictPolicy: ListFeature.policy, configuration: configuration)
            guard !isDead.withLock({ $0 }) else { return }
            session.start()
            self.session.withLock { $0 = session }
        } catch {
            failure.withLock { $0 = "a session could not begin: \(error)" }
        }
    }

    func tap(_ number: UInt32, accepted: Locked<Set<UInt32>>) {
        Task { @MainActor in
            guard let session = session.withLock({ $0 }) else { return }
            do {
                try session.submit(ListFeature.Event(number: number, isPicky: false))
                accepted.withLock { _ = $0.insert(number) }
            } catch {
                failure.withLock { $0 = "submit threw \(error)" }
            }
        }
    }

    func look(_ look: @escaping @Sendable ([UInt32]) -> Void) {
        Task { @MainActor in
            if let session = session.withLock({ $0 }) { look(session.state) }
        }
    }

    /// The system has ended it.
    func die() {
        isDead.withLock { $0 = true }
        clock.end()
        let session = session.withLock { $0.take() }
        Task { @MainActor in session?.stop() }
        transport.delivery.abandon()
    }
}

@available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
extension AppClock {
    /// - Throws: `CancellationError`.
    fileprivate func wait(_ duration: Duration) async throws {
        let waiter = Locked<(continuation: CheckedContinuation<Void, Never>?, isOver: Bool)>((nil, false))
        @Sendable func end() {
            let continuation = waiter.withLock { waiter in
                waiter.isOver = true
                return waiter.continuation.take()
            }
            continuation?.resume()
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = waiter.withLock { waiter in
                    if !waiter.isOver { waiter.continuation = continuation }
                    return waiter.isOver
                }
                if isOver { continuation.resume() } else { wake(at: elapsed + duration) { end() } }
            }
        } onCancel: {
            end()
        }
        try Task.checkCancellation()
    }
}
