import MeshBase

/// The work of a discovery, done on its thread. Only that thread creates and calls it.
protocol DiscoveryLoop: AnyObject {
    /// Announces this service; nil withdraws the current one.
    func announce(_ announcement: ServiceAnnouncement?)
    /// Does everything that is due, and reports events to the observer.
    /// - Returns: False if the discovery has ended for good.
    func advance() -> Bool
    /// The descriptors to wait for until the next `advance`.
    var sources: [DiscoverySource] { get }
    /// The latest time for the next `advance`; nil if nothing is scheduled.
    var nextDue: SuspendingClock.Instant? { get }
    /// Says goodbye and releases all resources.
    func end()
}

/// A descriptor, and the action for when it is readable. The action reads a bounded amount, even if more is available.
struct DiscoverySource {
    let descriptor: Int32
    let read: () -> Void
}

/// The thread of a discovery, and the requests for it.
///
/// Each turn handles the requests, does what is due, waits, and reads a bounded amount. So a flood of packets delays
/// neither requests nor timers. At most one announcement waits; a newer one replaces it.
final class DiscoveryThread: Sendable {
    private struct State {
        var hasStarted = false
        var shouldStop = false
        /// The announcement for the thread to take over. The inner nil withdraws the current one.
        var announcement: ServiceAnnouncement??
        var waiters: [CheckedContinuation<Void, Never>] = []
        /// The pipe that wakes the thread; nil while it doesn't run.
        var wake: WakePipe?
    }

    private let state = Locked(State())

    /// Starts a detached thread that creates a loop and runs it, until `stop` is called or the loop ends.
    /// - Throws: `DiscoveryError` with `alreadyStarted` on a second call or after `stop`, or with `systemCallFailed` if
    ///   no thread or pipe can be created.
    func start(_ makeLoop: @escaping @Sendable () -> any DiscoveryLoop) throws {
        try state.withLock { state in
            guard !state.hasStarted, !state.shouldStop else {
                throw DiscoveryError(.alreadyStarted, "this discovery was already started")
            }
            do throws(SystemCallError) {
                let wake = try WakePipe()
                try BlockingThread.start { [self] in
                    run(makeLoop(), wake)
                    finish()
                }
                state.wake = wake
            } catch {
                throw DiscoveryError(call: error.call, error.errorNumber)
            }
            state.hasStarted = true
        }
    }

    /// Passes an announcement to the thread. May be called before `start`.
    func announce(_ announcement: ServiceAnnouncement?) {
        state.withLock { state in
            state.announcement = .some(announcement)
            state.wake?.signal()
        }
    }

    /// Returns when the loop has ended.
    func stop() async { await withCheckedContinuation { stop($0) } }

    /// - Parameter waiter: Resumed when the loop has ended.
    func stop(_ waiter: CheckedContinuation<Void, Never>?) {
        let hasEnded = state.withLock { state in
            state.shouldStop = true
            guard let wake = state.wake else { return true }
            if let waiter { state.waiters.append(waiter) }
            wake.signal()
            return false
        }
        if hasEnded { waiter?.resume() }
    }

    private func run(_ loop: any DiscoveryLoop, _ wake: WakePipe) {
        defer { loop.end() }
        while true {
            wake.clear()
            let (shouldStop, announcement) = takeRequests()
            if shouldStop { return }
            if let announcement { loop.announce(announcement) }
            guard loop.advance() else { return }
            let sources = loop.sources
            let ready = wake.wait(
                for: sources.map(\.descriptor), timeoutMilliseconds: loop.nextDue.map(Self.milliseconds))
            for index in ready { sources[index].read() }
        }
    }

    private func takeRequests() -> (shouldStop: Bool, announcement: ServiceAnnouncement??) {
        state.withLock { state in
            defer { state.announcement = nil }
            return (state.shouldStop, state.announcement)
        }
    }

    /// Returns the time until a date, rounded up: a wait that ends early would need a second one.
    private static func milliseconds(until date: SuspendingClock.Instant) -> Int32 {
        Int32(clamping: (max(SuspendingClock.now.duration(to: date), .zero) + .milliseconds(1)).milliseconds)
    }

    private func finish() {
        let waiters = state.withLock { state in
            state.wake = nil
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }
}
