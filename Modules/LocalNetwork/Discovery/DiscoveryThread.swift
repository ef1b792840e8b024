import MeshBase

/// What a discovery does on its thread: only that thread makes it and calls it.
protocol DiscoveryLoop: AnyObject {
    /// This is to be announced from now on; nil takes back what was.
    func announce(_ announcement: ServiceAnnouncement?)
    /// Does what is due by now, and tells what has happened.
    /// - Returns: false when it is over for good.
    func advance() -> Bool
    /// What it listens to until the next `advance`.
    var sources: [DiscoverySource] { get }
    /// When `advance` is to be called at the latest; nil while nothing will be due.
    var nextDue: SuspendingClock.Instant? { get }
    /// Says goodbye and lets go of everything.
    func end()
}

/// A descriptor and what to do when it can be read. That returns soon, though more might be read.
struct DiscoverySource {
    let descriptor: Int32
    let read: () -> Void
}

/// The thread of a discovery, from its start to its end, and what others ask of it.
///
/// In each turn it does what is asked, then what is due, then waits, and reads a bounded piece of what has come. So a flood
/// holds up neither requests nor times. At most one announcement waits: a newer one takes its place.
final class DiscoveryThread: Sendable {
    private struct State {
        var hasStarted = false
        var stops = false
        /// Waits for the thread. The inner nil takes an announcement back.
        var announcement: ServiceAnnouncement??
        var waiters: [CheckedContinuation<Void, Never>] = []
        /// There while the thread runs.
        var wake: WakePipe?
    }

    private let state = Locked(State())

    /// Starts a detached thread that makes a loop and runs it until it is asked to stop or the loop is over.
    /// - Throws: `DiscoveryError` with `alreadyStarted`, also after `stop`, or `systemCallFailed` when there is no thread or
    ///   pipe to be had.
    func start(_ makeLoop: @escaping @Sendable () -> any DiscoveryLoop) throws {
        try state.withLock { state in
            guard !state.hasStarted, !state.stops else {
                throw DiscoveryError(.alreadyStarted, "a discovery starts once")
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

    /// Before the start, too.
    func announce(_ announcement: ServiceAnnouncement?) {
        state.withLock { state in
            state.announcement = .some(announcement)
            state.wake?.signal()
        }
    }

    /// Returns when the loop has ended.
    func stop() async { await withCheckedContinuation { stop($0) } }

    /// - Parameter waiter: resumed when the loop has ended.
    func stop(_ waiter: CheckedContinuation<Void, Never>?) {
        let hasEnded = state.withLock { state in
            state.stops = true
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
            let (stops, announcement) = takeRequests()
            if stops { return }
            if let announcement { loop.announce(announcement) }
            guard loop.advance() else { return }
            let sources = loop.sources
            let ready = wake.wait(
                for: sources.map(\.descriptor), timeoutMilliseconds: loop.nextDue.map(Self.milliseconds))
            for index in ready { sources[index].read() }
        }
    }

    private func takeRequests() -> (stops: Bool, announcement: ServiceAnnouncement??) {
        state.withLock { state in
            defer { state.announcement = nil }
            return (state.stops, state.announcement)
        }
    }

    /// Rounded up, so that nobody wakes too early and waits once more.
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
