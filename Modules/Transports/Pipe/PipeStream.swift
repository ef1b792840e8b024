import Dispatch
import MeshBase
import MeshTransport

/// One connection of a link: bytes that wait to be written, and the two threads that serve it.
///
/// The reading thread reports the connection and received bytes to the observer. If nothing waits, a packet is written
/// on its sender's thread, which saves a thread switch. The writing thread writes what the system doesn't take at once,
/// together with packets that come in the meantime. The last thread to leave reports the end. Safe to use from any
/// thread; no code outside is called while the lock is held.
final class PipeStream: Sendable {
    enum Phase {
        case open
        /// This side has closed the connection: accepted bytes are written first.
        case finishing
        /// The other side has gone, or an error occurred: only bytes that can move without waiting still do.
        case draining
        case ended
    }

    struct State {
        var phase = Phase.open
        /// Accepted bytes that no writer has taken yet.
        var filling: [UInt8] = []
        /// Number of bytes accepted and not yet handed to the system.
        var unwritten = 0
        /// True while the writing thread or a sender writes.
        var isWriting = false
        /// True if `send` has thrown `full`.
        var hasThrownFull = false
        /// Number of threads and senders that use the descriptors. The last one releases them.
        var users = 0
        var isAnnounced = false
        var hasReceived = false
        var isClosedHere = false
        var failure: String?
        var descriptors: Descriptors?
    }

    /// Maximum number of accepted bytes that wait for the system.
    static let bufferBytes = 256 << 10
    static let readBytes = 64 << 10

    let address: LinkAddress
    let observer: any LinkObserver
    let statistics: Locked<PipeStatistics>
    let state: Locked<State>
    /// The semaphore that is signaled when the writing thread has something to do.
    let work = DispatchSemaphore(value: 0)
    private let whenEnded: @Sendable (PipeStream) -> Void

    /// - Parameter whenEnded: called once, after the observer was notified, also if `start` throws.
    init(
        address: LinkAddress, descriptors: Descriptors, observer: any LinkObserver,
        statistics: Locked<PipeStatistics>, whenEnded: @escaping @Sendable (PipeStream) -> Void
    ) {
        self.address = address
        self.observer = observer
        self.statistics = statistics
        self.whenEnded = whenEnded
        state = Locked(State(descriptors: descriptors))
    }

    var hasReceived: Bool { state.withLock { $0.hasReceived } }

    /// - Throws: `PipeError` with `systemCallFailed`; the observer isn't notified then.
    func start(_ descriptors: Descriptors) throws(PipeError) {
        state.withLock { $0.users = 2 }
        var startedCount = 0
        do throws(PipeError) {
            try begin { self.write(to: descriptors) }
            startedCount = 1
            try begin { self.read(from: descriptors) }
        } catch {
            interrupt()
            for _ in startedCount..<2 { endUse() }
            throw error
        }
    }

    private func begin(_ body: @escaping @Sendable () -> Void) throws(PipeError) {
        try PipeError.translating(BlockingThread.start(body))
    }

    /// Writes the accepted bytes, then ends both threads.
    func finish() {
        state.withLock { state in
            state.isClosedHere = true
            if state.phase == .open { state.phase = .finishing }
        }
        work.signal()
    }

    /// Ends both threads at once.
    func interrupt() {
        let descriptors = state.withLock { state in
            state.isClosedHere = true
            state.phase = .ended
            return state.descriptors
        }
        descriptors?.interrupt()
        work.signal()
    }

    /// Starts the end of the connection: no new bytes pass, and readers and writers leave without waiting.
    /// - Parameter failure: the error; nil if the other side has gone.
    func drain(_ failure: String?) {
        let descriptors: Descriptors? = state.withLock { state in
            guard state.phase == .open || state.phase == .finishing else { return nil }
            state.phase = .draining
            state.failure = failure
            return state.descriptors
        }
        descriptors?.interrupt()
        work.signal()
    }

    /// Ends one use of the descriptors. Each user calls it last.
    func endUse() {
        let end: (isAnnounced: Bool, reason: String?)? = state.withLock { state in
            state.users -= 1
            guard state.users == 0 else { return nil }
            state.phase = .ended
            state.descriptors = nil
            return (state.isAnnounced, state.reason)
        }
        guard let end else { return }
        if end.isAnnounced { observer.disconnected(address, reason: end.reason) }
        whenEnded(self)
    }
}

extension PipeStream.State {
    /// The reason that the connection ended; nil for an orderly end.
    fileprivate var reason: String? {
        if let failure { return failure }
        return hasReceived || isClosedHere ? nil : "the other side ended the connection before it sent anything"
    }
}
