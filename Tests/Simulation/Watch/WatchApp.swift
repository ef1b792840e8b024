import MeshBase
import MeshDelivery
import MeshFoundation
import MeshIdentity
import MeshSimulatedWatch
import MeshStorage
import MeshTransport
import MeshWatchConnectivityTransport

/// One launch of an app that sends envelopes, snapshots and best-effort messages through its transport.
@available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
final class WatchApp: PairApp {
    let device: Int
    let clock: AppClock
    let transport: WatchConnectivitySessionSyncTransport
    private let progress: Locked<WatchProgress>
    private let hasCrashed = Locked(false)
    private let tasks = Locked<[Task<Void, Never>]>([])

    init(
        _ launch: PairLaunch, store: SimulatedDisk?, seed: UInt64, progress: Locked<WatchProgress>
    ) throws {
        device = launch.device
        clock = launch.clock
        self.progress = progress
        transport = try launch.transport(store: store, seed: seed)
        progress.withLock { progress in
            for way in progress.ways.indices {
                if progress.ways[way].to == launch.device { progress.ways[way].mayRepeat = true }
                if progress.ways[way].from == launch.device { progress.ways[way].isSending = false }
            }
        }
        listen()
    }

    func crash() {
        hasCrashed.withLock { $0 = true }
        clock.end()
        for task in tasks.withLock({ $0 }) { task.cancel() }
        transport.delivery.abandon()
    }

    private func run(_ body: @escaping @Sendable (WatchApp) async -> Void) {
        let task = Task { [weak self] in
            if let self { await body(self) }
        }
        tasks.withLock { $0.append(task) }
    }

    // MARK: Receiving

    private func listen() {
        let (batches, snapshots) = (transport.envelopeBatches { _ in true }, transport.receiveSnapshots())
        run { app in
            while let batch = await batches.next(), !app.hasCrashed.withLock({ $0 }) {
                app.progress.withLock { progress in
                    for envelope in batch {
                        if envelope.metadata.featureID == Self.chatterID {
                            progress.hear(envelope.metadata.sequence, of: envelope.metadata.sourcePeerID)
                            continue
                        }
                        progress.take(envelope.metadata.sequence, on: envelope.metadata.featureID, at: app.device)
                    }
                }
            }
        }
        run { app in
            var newest: [String: UInt64] = [:]
            for await snapshot in snapshots where !app.hasCrashed.withLock({ $0 }) {
                let feature = snapshot.metadata.featureID
                if let known = newest[feature], known > snapshot.revision {
                    app.progress.withLock {
                        $0.failure = "\(feature): snapshot \(snapshot.revision) came after \(known)"
                    }
                }
                newest[feature] = snapshot.revision
            }
        }
    }

    // MARK: Sending

    private static let session = UUID(uuid: (0x5E, 0x55, 0x10, 0, 0, 0, 0x80, 0, 0x80, 0, 0, 0, 0, 0, 0, 9))

    private func metadata(_ sequence: UInt64, _ featureID: String) -> SessionSyncMetadata {
        SessionSyncMetadata(
            sessionID: Self.session, featureID: featureID, sourcePeerID: transport.localPeer.id, sequence: sequence,
            causalTimestamp: Date(timeIntervalSince1970: 1_767_225_600), payloadType: "number")
    }

    /// Sends the permitted envelopes one at a time, as an ordinary caller does.
    func send(on index: Int) {
        let isMine = progress.withLock { progress in
            let way = progress.ways[index]
            guard way.from == device, way.accepted < way.allowed, !way.isSending else { return false }
            progress.ways[index].isSending = true
            return true
        }
        guard isMine else { return }
        run { app in
            await app.sendAll(on: index)
            if !app.hasCrashed.withLock({ $0 }) { app.progress.withLock { $0.ways[index].isSending = false } }
        }
    }

    private func sendAll(on index: Int) async {
        while !hasCrashed.withLock({ $0 }) {
            let way = progress.withLock { $0.ways[index] }
            guard way.accepted < way.allowed else { return }
            do {
                let sequence = way.accepted + 1
                let envelope = try AnySessionSyncEnvelope(
                    SessionSyncEnvelope(metadata: metadata(sequence, way.featureID), payload: sequence))
                try await transport.send(envelope, mode: .reliableEventually, to: SessionPeer.ofPair(way.to))
                progress.withLock { $0.ways[index].accepted = sequence }
            } catch is CancellationError {
                return
            } catch SessionSyncError.unknownPeer, SessionSyncError.queueFull, SessionSyncError.closed {
                return
            } catch {
                return progress.withLock { $0.failure = "send threw \(error)" }
            }
        }
    }

    func publish() {
        run { app in
            let revision = app.progress.withLock { $0.published[app.device] } + 1
            let feature = "state of \(app.device)"
            guard
                let snapshot = try? AnySessionSyncSnapshot(
                    SessionSyncSnapshot(
                        metadata: app.metadata(revision, feature), revision: revision, state: revision,
                        peerSequenceVector: [:])),
                (try? await app.transport.sendSnapshot(snapshot, mode: .latestSnapshot, to: nil)) != nil,
                !app.hasCrashed.withLock({ $0 })
            else { return }
            app.progress.withLock { $0.published[app.device] = revision }
        }
    }

    private static let chatterID = "chatter"

    /// Sends a best-effort message to all peers. Without faults the transport must accept it, because the platform has
    /// a queue.
    func chatter() {
        run { app in
            let number = app.progress.withLock { $0.say(at: app.device) }
            do {
                let metadata = app.metadata(number, Self.chatterID)
                let envelope = try AnySessionSyncEnvelope(SessionSyncEnvelope(metadata: metadata, payload: number))
                try await app.transport.send(envelope, mode: .realtimeBestEffort, to: nil)
            } catch {
                app.progress.withLock { progress in
                    if progress.isCalm { progress.failure = "best effort \(number) was refused: \(error)" }
                }
            }
        }
    }
}

/// The pair's clock as one app sees it. It makes no calls while the app is suspended, nor after the app has ended.
final class AppClock: DeliveryClock {
    private struct State {
        var isOver = false
        var waiting: [@Sendable () -> Void] = []
    }

    private let base: SimulatedWatchClock
    private let device: SimulatedDevice
    private let aheadSeconds: Locked<TimeInterval>
    private let state = Locked(State())

    /// - Parameter aheadSeconds: The seconds by which the device's wall clock is ahead. May be set at any time.
    init(_ base: SimulatedWatchClock, on device: SimulatedDevice, aheadSeconds: Locked<TimeInterval> = Locked(0)) {
        self.base = base
        self.device = device
        self.aheadSeconds = aheadSeconds
    }

    var elapsed: Duration { base.elapsed }
    var wall: Date { base.wall.addingTimeInterval(aheadSeconds.withLock { $0 }) }
    var passesByItself: Bool { false }

    func wake(at deadline: Duration, _ body: @escaping @Sendable () -> Void) {
        base.wake(at: deadline) { self.call(body) }
    }

    private func call(_ body: @escaping @Sendable () -> Void) {
        let isSuspended = device.state == .suspended
        let isDue = state.withLock { state in
            if isSuspended, !state.isOver { state.waiting.append(body) }
            return !isSuspended && !state.isOver
        }
        if isDue { body() }
    }

    /// Makes the calls that waited while the app was suspended. Does nothing if it still is.
    func resumeCalls() {
        guard device.state != .suspended else { return }
        let waiting = state.withLock { state in
            defer { state.waiting = [] }
            return state.waiting
        }
        for body in waiting { wake(at: base.elapsed, body) }
    }

    func end() {
        let waiting = state.withLock { state in
            state.isOver = true
            defer { state.waiting = [] }
            return state.waiting
        }
        withExtendedLifetime(waiting) {}
    }
}
