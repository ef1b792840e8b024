import Dispatch
import MeshBus
import MeshIdentity
import MeshTransport
import MeshWire

/// One pipe from greeting to farewell: what was accepted, who is at the other end, and the two threads that serve it.
///
/// `PipeConnection+Reading` and `PipeConnection+Writing` are the threads' bodies. Safe to use from any thread; nothing is
/// called out to while the lock is held.
final class PipeConnection: Sendable {
    enum Phase {
        /// Made and not started.
        case idle
        /// Started; the peer has not greeted yet.
        case greeting
        case connected
        /// Nothing passes any more, either way.
        case ended
    }

    struct State {
        var phase = Phase.idle
        /// Who greeted; kept after the end.
        var peer: SessionPeer?
        /// `close` has been called: what waits is written, then the writer ends.
        var isClosing = false
        /// Said last.
        var farewell: WireGoodbye?
        var outbox: PipeOutbox
        var statistics = PipeStatistics()
        /// Let go when both threads have ended, which closes them if they are owned.
        var descriptors: Descriptors?
        var threadCount = 0
        /// The other side has stopped taking; it may go on sending.
        var hasWriterEnded = false
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    let localPeer: SessionPeer
    let codec: any PayloadCodec
    let codecs: CodecTable
    let compression: CompressionPolicy
    let limits: FrameLimits
    let inbox: TransportInbox
    let diagnostics: Topic<SessionDiagnosticEvent>?
    let state: Locked<State>
    /// Signalled when the writer has something to do.
    let work = DispatchSemaphore(value: 0)

    init(
        localPeer: SessionPeer, descriptors: Descriptors, codec: any PayloadCodec, codecs: CodecTable,
        compression: CompressionPolicy, limits: FrameLimits, outbox: PipeOutbox, inbox: TransportInbox,
        diagnostics: Topic<SessionDiagnosticEvent>?
    ) {
        self.localPeer = localPeer
        self.codec = codec
        self.codecs = codecs
        self.compression = compression
        self.limits = limits
        self.inbox = inbox
        self.diagnostics = diagnostics
        state = Locked(State(outbox: outbox, descriptors: descriptors))
    }

    /// - Throws: `SessionSyncError.closed`; `PipeError` with `alreadyStarted` or `systemCallFailed`.
    func start() throws {
        let descriptors = try state.withLock { state in
            guard !state.isClosing else { throw SessionSyncError.closed }
            guard state.phase == .idle, let descriptors = state.descriptors else {
                throw PipeError(code: .alreadyStarted, message: "a pipe starts once", errorNumber: 0)
            }
            state.phase = .greeting
            state.threadCount = 2
            return descriptors
        }
        var startedCount = 0
        do {
            try LinkThread.start { self.write(to: descriptors) }
            startedCount = 1
            try LinkThread.start { self.read(from: descriptors) }
        } catch {
            end(rejecting: nil)
            for _ in startedCount..<2 { threadEnded() }
            throw error
        }
    }

    /// Takes a message, or throws what `admit` throws or `queueFull`.
    func submit(
        _ message: WireMessage, mode: SessionDeliveryMode, to receiver: SessionPeer?
    ) throws {
        let payloadBytes = payloadBytes(of: message)
        let wakesWriter = try state.withLock { state in
            try state.admit(mode: mode, to: receiver)
            let wasEmpty = state.outbox.isEmpty
            if mode == .latestSnapshot, case .snapshot(let snapshot) = message {
                try state.outbox.replaceLatest(snapshot)
            } else {
                try state.outbox.append(message, bytes: payloadBytes)
            }
            return wasEmpty && state.phase == .connected
        }
        if wakesWriter { work.signal() }
    }

    /// - Throws: what `State.admit` throws.
    func admit(mode: SessionDeliveryMode, to receiver: SessionPeer?) throws {
        try state.withLock { try $0.admit(mode: mode, to: receiver) }
    }

    /// Ends the link: nothing that waits is written but the farewell.
    ///
    /// - Parameter reason: reported as a rejection; nil for an end in good order.
    func end(rejecting reason: String?, farewell: WireGoodbye? = nil) {
        let (isNews, lost): (Bool, SessionPeer?) = state.withLock { state in
            guard state.phase != .ended else { return (false, nil) }
            state.phase = .ended
            state.farewell = farewell
            _ = state.outbox.takeAll()
            return (true, state.peer)
        }
        guard isNews else { return }
        work.signal()
        if let reason { diagnostics?.publish(.rejected(peerID: lost?.id, reason: reason)) }
        if let lost { announce(lost, isReachable: false) }
    }

    func announce(_ peer: SessionPeer, isReachable: Bool) {
        inbox.deliver(SessionPeerReachability(isReachable, peer: peer))
        diagnostics?.publish(.reachabilityChanged(peerID: peer.id, isReachable: isReachable))
    }

    /// The threads' last act. The one that ends last lets the descriptors go.
    func threadEnded() {
        let waiters: [CheckedContinuation<Void, Never>] = state.withLock { state in
            state.threadCount -= 1
            guard state.threadCount == 0 else { return [] }
            state.descriptors = nil
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }
}

// MARK: - Closing

extension PipeConnection {
    /// Writes what was accepted and a farewell, ends both threads and the streams. After `grace`, what the other side
    /// has not taken is given up.
    func close(grace: Duration) async {
        let isReaderAlone = state.withLock { state in
            state.isClosing = true
            if state.phase == .idle {
                state.phase = .ended
                state.descriptors = nil
            }
            return state.hasWriterEnded
        }
        if isReaderAlone { interrupt() } else { work.signal() }
        let patience = Task {
            try await Task.sleep(for: grace)
            interrupt()
        }
        await withCheckedContinuation { waiter in
            let hasEnded = state.withLock { state in
                if state.threadCount > 0 { state.waiters.append(waiter) }
                return state.threadCount == 0
            }
            if hasEnded { waiter.resume() }
        }
        patience.cancel()
        inbox.close()
    }

    /// Ends both threads where they are.
    func interrupt() {
        let descriptors = state.withLock { state in
            state.isClosing = true
            return state.descriptors
        }
        descriptors?.interrupt()
        work.signal()
    }
}

extension PipeConnection.State {
    /// - Throws: `SessionSyncError` with `closed`, `unknownPeer` or `notReachable`.
    func admit(mode: SessionDeliveryMode, to receiver: SessionPeer?) throws(SessionSyncError) {
        guard !isClosing else { throw .closed }
        if let receiver, receiver.id != peer?.id { throw .unknownPeer(id: receiver.id) }
        switch (phase, mode) {
        case (.connected, _), (.idle, .reliableEventually), (.idle, .latestSnapshot),
            (.greeting, .reliableEventually), (.greeting, .latestSnapshot):
            return
        default: throw .notReachable
        }
    }
}

extension PipeConnection {
    /// Bytes of the payload, which is encoded already.
    func payloadBytes(of message: WireMessage) -> Int {
        switch message {
        case .envelope(let envelope): (try? envelope.encodedPayload(with: codec).bytes.count) ?? 0
        case .snapshot(let snapshot): (try? snapshot.encodedState(with: codec).bytes.count) ?? 0
        case .hello, .snapshotRequest, .report, .goodbye: 0
        }
    }
}
