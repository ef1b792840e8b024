import Dispatch
import MeshBase
import MeshTransport

/// One connection of a link: what was taken and not yet written, and the two threads that serve it.
///
/// The reading thread tells the observer of the connection and of what arrives. A packet that comes when nothing waits
/// goes out on the sender's own thread, which spares it the way through another. What the system does not take at once is
/// left to the writing thread, and so is what comes before it has gone: that goes out together. Whoever is last to leave tells of the end. Safe to use from any thread;
/// nothing is called out to while the lock is held.
final class PipeStream: Sendable {
    enum Phase {
        case open
        /// Closed from here: what was taken is written first.
        case finishing
        /// The other side has gone, or an error came up: what can be moved without waiting still is.
        case draining
        case ended
    }

    struct State {
        var phase = Phase.open
        /// Taken, and not yet with whoever writes.
        var filling: [UInt8] = []
        /// Bytes taken and not yet handed to the system.
        var unwritten = 0
        /// Somebody writes now, the writing thread or a sender.
        var isWriting = false
        /// A sender was told that there is no room.
        var owesWritable = false
        /// Threads and senders that use the descriptors. The last one lets them go.
        var users = 0
        var isAnnounced = false
        var hasReceived = false
        var isClosedHere = false
        var failure: String?
        var descriptors: Descriptors?
    }

    /// Taken bytes that wait for the system.
    static let bufferBytes = 256 << 10
    static let readBytes = 64 << 10

    let address: LinkAddress
    let observer: any LinkObserver
    let statistics: Locked<PipeStatistics>
    let state: Locked<State>
    /// Signalled when the writing thread has something to do.
    let work = DispatchSemaphore(value: 0)
    private let whenEnded: @Sendable (PipeStream) -> Void

    /// - Parameter whenEnded: called once, after the observer was told, also when `start` throws.
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

    /// - Throws: `PipeError` with `systemCallFailed`; the observer hears nothing then.
    func start(_ descriptors: Descriptors) throws(PipeError) {
        state.withLock { $0.users = 2 }
        var startedCount = 0
        do throws(PipeError) {
            try begin { self.write(to: descriptors) }
            startedCount = 1
            try begin { self.read(from: descriptors) }
        } catch {
            interrupt()
            for _ in startedCount..<2 { leave() }
            throw error
        }
    }

    private func begin(_ body: @escaping @Sendable () -> Void) throws(PipeError) {
        try PipeError.translating(BlockingThread.start(body))
    }

    /// What was taken is written, then both threads end.
    func finish() {
        state.withLock { state in
            state.isClosedHere = true
            if state.phase == .open { state.phase = .finishing }
        }
        work.signal()
    }

    /// Ends both threads where they are.
    func interrupt() {
        let descriptors = state.withLock { state in
            state.isClosedHere = true
            state.phase = .ended
            return state.descriptors
        }
        descriptors?.interrupt()
        work.signal()
    }

    /// Nothing new will pass any more; whoever reads or writes takes leave without waiting.
    /// - Parameter failure: what went wrong; nil when the other side has gone.
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

    /// Called by each user of the descriptors as its last act.
    func leave() {
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
    /// Why the connection has ended; nil for good order.
    fileprivate var reason: String? {
        if let failure { return failure }
        return hasReceived || isClosedHere ? nil : "the other side ended before it said anything"
    }
}
