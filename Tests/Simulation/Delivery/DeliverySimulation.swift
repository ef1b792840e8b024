public import MeshBase
import MeshDelivery
import MeshDiagnostics
import MeshFoundation
import MeshIdentity
public import MeshScenarioTransport
import MeshStorage
public import MeshTransport

/// Sends reliable envelopes through two complete transports over a bad network, in virtual time and on one thread.
/// Checks that each arrives once and in order.
///
/// `send` suspends the sender while the queue is full. With `hasFaults`, connections are cut and healed in one or both
/// directions, links report false reachability, and stores refuse a write. The sender crashes and returns with its store
/// or an older copy of it. The receiver closes and returns. With `hasLiar`, a third peer that both have paired with floods the receiver and
/// impersonates the sender. The seed determines the run completely.
@available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
public struct DeliverySimulation: SeedSimulation {
    public var envelopes: UInt64
    public var conditions = ScenarioConditions(
        latency: .uniform(.milliseconds(5), .milliseconds(50)), lossRate: 0.3, duplicationRate: 0.1,
        reorderingRate: 0.33)
    public var lanes = ScenarioLanes.datagrams
    public var hasFaults: Bool
    public var hasLiar = false
    /// Wraps the transport at each end in a `DiagnosticsSession`, which must change nothing.
    public var isRecorded = false
    /// Virtual time after which the run fails.
    public var patience: Duration = .seconds(3600)

    public init(envelopes: UInt64, hasFaults: Bool = false) {
        self.envelopes = envelopes
        self.hasFaults = hasFaults
    }

    public func run(seed: UInt64, trace: Trace?) -> SeedOutcome {
        let run = DeliveryRun(self, seed: seed)
        var outcome = SeedOutcome(seed: seed, failure: run.play())
        outcome.faults = run.faults
        outcome.counts = ["envelopes": Int(clamping: envelopes), "delivered": Int(clamping: run.delivered)]
        outcome.simulatedSeconds = run.network.elapsed / .seconds(1)
        return outcome
    }
}

/// State shared by the tasks of a run. Used only on the run's thread.
private struct DeliveryProgress {
    /// The number of the last accepted envelope.
    var accepted: UInt64 = 0
    /// True if the receiver is away and the queue is full, or the store refused a message. The sender retries later.
    var isStalled = false
    var delivered: UInt64 = 0
    var failure: String?

    mutating func take(_ batch: [AnySessionSyncEnvelope]) {
        for envelope in batch where failure == nil && envelope.metadata.sourcePeerID == "sender" {
            let sequence = envelope.metadata.sequence
            if sequence == delivered + 1 {
                delivered = sequence
            } else {
                failure = "\(sequence) came after \(delivered)"
            }
        }
    }
}

/// An ordinary caller: sends envelopes in order and suspends in `send`.
private struct DeliverySender: Sendable {
    let transport: any SessionSyncTransport
    let progress: Locked<DeliveryProgress>
    let last: UInt64
    let batch: UInt64

    func run() async {
        while !Task.isCancelled {
            let accepted = progress.withLock { $0.accepted }
            guard accepted < last else { return }
            let numbers = accepted + 1...min(accepted + batch, last)
            do {
                try await transport.send(numbers.map(envelope), mode: .reliableEventually, to: nil)
                progress.withLock { $0.accepted = numbers.upperBound }
            } catch is StorageError {
                return progress.withLock { $0.isStalled = true }
            } catch SessionSyncError.queueFull {
                return progress.withLock { $0.isStalled = true }
            } catch SessionSyncError.closed {
                return
            } catch is CancellationError {
                return
            } catch {
                return progress.withLock { $0.failure = "send threw \(error)" }
            }
        }
    }

    private static let session = UUID(uuid: (0x5E, 0x55, 0x10, 0, 0, 0, 0x80, 0, 0x80, 0, 0, 0, 0, 0, 0, 6))

    private func envelope(_ sequence: UInt64) throws -> AnySessionSyncEnvelope {
        try AnySessionSyncEnvelope(
            SessionSyncEnvelope(
                metadata: SessionSyncMetadata(
                    sessionID: Self.session, featureID: "simulation", sourcePeerID: transport.localPeer.id,
                    sequence: sequence,
                    causalTimestamp: Date(timeIntervalSince1970: 1_767_225_600), payloadType: "number"),
                payload: sequence))
    }
}

@available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
private final class DeliveryRun {
    let simulation: DeliverySimulation
    let network: ScenarioNetwork
    private(set) var faults: [String: Int] = [:]
    /// Not a `SimulationThread`: on one, closing the receiver hung while tests blocked all threads of the shared pool.
    private let executor = ManualExecutor()
    private let progress = Locked(DeliveryProgress())
    private var disk = SimulatedDisk(durability: .memory)
    /// An older copy of the sender's store, and the last envelope accepted before the copy was made.
    private var backup: (contents: StoreContents, accepted: UInt64)?
    private let receiverDisk = SimulatedDisk(durability: .memory)
    private var random: SplitMix64
    private var transport: (any SessionSyncTransport)?
    private var receiving: LinkTransport?
    private var recorder: DiagnosticsSession?
    private var sending: Task<Void, Never>?
    private var liar: FloodingPeer?

    private let sender = SessionPeer(
        id: "sender", deviceClass: .phone, appInstanceID: "simulation", topology: .localNetwork)
    private let receiver = SessionPeer(
        id: "receiver", deviceClass: .watch, appInstanceID: "simulation", topology: .localNetwork)

    init(_ simulation: DeliverySimulation, seed: UInt64) {
        self.simulation = simulation
        random = SplitMix64(seed: seed)
        network = ScenarioNetwork(seed: seed, conditions: simulation.conditions, traceLimit: 0)
    }

    var delivered: UInt64 { progress.withLock { $0.delivered } }

    /// - Returns: The failure, or nil.
    func play() -> String? {
        do {
            if simulation.hasLiar {
                network.provePeers()
                liar = FloodingPeer(on: network, lanes: simulation.lanes, victim: receiver)
            }
            try launchReceiver()
            try launchSender()
            while network.elapsed < simulation.patience {
                executor.runAll()
                let progress = progress.withLock { $0 }
                if let failure = progress.failure { return failure }
                if progress.delivered == simulation.envelopes { return try settleAndCheck() }
                if simulation.hasFaults { try causeFaults() }
                if progress.isStalled { startSending() }
                if let liar {
                    liar.lie(&random)
                    if let failure = liarViolation() { return failure }
                }
                network.advance(by: .milliseconds(1))
            }
            return "\(delivered) of \(simulation.envelopes) arrived within \(simulation.patience)"
        } catch {
            return "\(error)"
        }
    }

    private func liarViolation() -> String? {
        guard let receiving else { return nil }
        if !receiving.isWithinBudgets { return "a peer made the receiver hold more than its budget" }
        let isForged = (0..<4).contains { feature in
            let source = receiving.latestPeerSnapshot(featureID: "\(feature)")?.metadata.sourcePeerID
            return source != nil && source != FloodingPeer.id
        }
        return isForged ? "the receiver accepted a message forged in the sender's name" : nil
    }

    /// Checks that no envelope arrives a second time.
    private func settleAndCheck() throws -> String? {
        network.heal()
        network.advance(by: .seconds(20))
        executor.runAll()
        let progress = progress.withLock { $0 }
        sending?.cancel()
        return progress.failure
    }

    // MARK: - The two sides

    private func makeTransport(_ peer: SessionPeer, _ store: any SessionStore) throws -> LinkTransport {
        try network.makeTransport(
            localPeer: peer, lanes: simulation.lanes, configuration: DeliveryConfiguration(),
            store: simulation.hasFaults ? store : nil
        ).delivery
    }

    private func launchSender() throws {
        let plain = try makeTransport(sender, disk)
        transport = simulation.isRecorded ? DiagnosticsSession(wrapping: plain) : plain
        startSending()
    }

    private func startSending() {
        guard let transport else { return }
        progress.withLock { $0.isStalled = false }
        // With faults, one envelope at a time, so that the run knows which one was accepted last.
        let sender = DeliverySender(
            transport: transport, progress: progress, last: simulation.envelopes,
            batch: simulation.hasFaults ? 1 : 256)
        sending = Task(executorPreference: executor) { await sender.run() }
    }

    private func launchReceiver() throws {
        let transport = try makeTransport(receiver, receiverDisk)
        receiving = transport
        recorder = simulation.isRecorded ? DiagnosticsSession(wrapping: transport) : nil
        let batches = recorder?.envelopeBatches { _ in true } ?? transport.envelopeBatches { _ in true }
        let progress = progress
        Task(executorPreference: executor) {
            while let batch = await batches.next() { progress.withLock { $0.take(batch) } }
        }
    }

    private func closeReceiver() {
        executor.runAll()
        guard let receiving else { return }
        let isClosed = Locked(false)
        Task(executorPreference: executor) {
            await receiving.close()
            isClosed.withLock { $0 = true }
        }
        while !isClosed.withLock({ $0 }) { executor.runAll() }
    }

    // MARK: - Faults

    /// Injects about two faults in each virtual second.
    private func causeFaults() throws {
        guard random.happens(rate: 0.002) else { return }
        switch random.upTo(11) {
        case 0: note("partition") { network.partition([sender], [receiver]) }
        case 1: note("one way cut") { network.partition(from: sender, to: receiver) }
        case 2: note("one way cut") { network.partition(from: receiver, to: sender) }
        case 3: note("lie") { network.setReachable(random.happens(rate: 0.5), of: receiver, seenBy: sender) }
        case 4: note("lie") { network.setReachable(random.happens(rate: 0.5), of: sender, seenBy: receiver) }
        case 5:
            note("crash of the sender") { crashSender() }
            try launchSender()
        case 6:
            // An orderly end: the receiver handles everything that was delivered to it, then closes and can record it.
            receiverDisk.prepare(.succeeds)
            note("relaunch of the receiver") { closeReceiver() }
            try launchReceiver()
        case 7: try restoreStore()
        case 8: note("refused write of the sender") { disk.prepare(.isRefused, after: Int(random.upTo(3))) }
        case 9: note("refused write of the receiver") { receiverDisk.prepare(.isRefused, after: Int(random.upTo(3))) }
        default:
            network.heal()
            network.setReachable(nil, of: receiver, seenBy: sender)
            network.setReachable(nil, of: sender, seenBy: receiver)
        }
    }

    private func crashSender() {
        network.crash(sender)
        sending?.cancel()
        executor.runAll()
    }

    /// Copies the sender's store on the first call, and restores the copy on the next. The sender then continues after
    /// the later of two messages: the last one in the copy and the last one that the receiver has. Does nothing before
    /// the first delivery: a message that was stored before the sender knew a peer has no number, and would be sent
    /// again.
    private func restoreStore() throws {
        guard delivered > 0 else { return }
        crashSender()
        if let earlier = backup.take() {
            note("restored store") { disk = SimulatedDisk(earlier.contents, durability: .memory) }
            progress.withLock { $0.accepted = max($0.delivered, earlier.accepted) }
        } else {
            backup = (disk.contents, progress.withLock { $0.accepted })
        }
        try launchSender()
    }

    private func note(_ kind: String, _ body: () -> Void) {
        faults[kind, default: 0] += 1
        body()
    }
}
