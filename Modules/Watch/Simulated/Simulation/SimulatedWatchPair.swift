import Dispatch
public import Foundation
import MeshBase

/// A phone, one or more watches, and the system between them, in virtual time. One seed determines everything.
///
/// ```swift
/// let pair = SimulatedWatchPair(seed: 7)
/// let phoneApp = App(session: try #require(pair.phone.launch()))   // sets the delegate, activates
/// let watchApp = App(session: try #require(pair.watch.launch()))
/// pair.runUntilIdle()
/// phoneApp.session.transferUserInfo(["lap": 3])
/// pair.runUntilIdle()                                               // the watch app's delegate is called in here
/// ```
///
/// Nothing happens on its own, unless you call `runInRealTime()`. Timers, delegates and handlers run inside
/// `advance(by:)` and `runUntilIdle()`, one at a time, on the calling thread. If that is the main thread, they run on
/// another one while the main thread waits.
///
/// Equal seeds and equal calls give equal traces. Safe to use from any thread. Concurrent calls of those two methods
/// take turns; code that they run must not call them.
///
/// Keeps at most 100,000 transfers of each kind and direction, and 10,000 messages; further ones fail. Releasing the
/// pair ends the simulation and deletes the folder that it created.
public final class SimulatedWatchPair: Sendable {
    /// The seed of all random decisions.
    public let seed: UInt64
    /// The phone of the pair.
    public let phone: SimulatedDevice
    /// The watches of the pair. The phone talks to the first one initially.
    public let watches: [SimulatedDevice]
    /// The virtual clock, for transports.
    public let clock: SimulatedWatchClock
    /// The folder for received files that wait for their app.
    public let directory: URL

    private let core: Locked<PairCore>
    private let turn = Locked(())
    /// The thread that is advancing the pair.
    private let performer = Locked<ObjectIdentifier?>(nil)
    private let queue = DispatchQueue(label: "SimulatedWatchPair")
    private let ticker = Locked<(any DispatchSourceTimer)?>(nil)
    private let ownsDirectory: Bool

    /// Creates a phone and its watches, none of which runs an app yet.
    ///
    /// - Parameters:
    ///   - watches: The number of watches paired with the phone, at least one.
    ///   - directory: An existing folder for files. nil creates one on demand, and deletes it with the pair.
    ///   - start: The initial time of the virtual wall clock.
    ///   - traceLimit: The number of trace entries to keep.
    public init(
        seed: UInt64, conditions: SimulatedWatchConditions = .calm, watches: Int = 1, directory: URL? = nil,
        start: Date = Date(timeIntervalSince1970: 1_750_000_000), traceLimit: Int = 10_000
    ) {
        let folder =
            directory
            ?? FileManager.default.temporaryDirectory.appendingPathComponent("SimulatedWatch-\(UUID().uuidString)")
        let count = max(watches, 1)
        let core = Locked(
            PairCore(seed: seed, conditions: conditions, watches: count, directory: folder, traceLimit: traceLimit))
        core.withCore { $0.core = core }
        self.seed = seed
        self.core = core
        self.directory = folder
        ownsDirectory = directory == nil
        phone = SimulatedDevice(index: 0, core: core)
        self.watches = (1...count).map { SimulatedDevice(index: $0, core: core) }
        clock = SimulatedWatchClock(core: core, start: start)
    }

    deinit {
        ticker.withLock { $0?.cancel() }
        core.withCore { core in
            for device in core.devices.indices {
                core.deferredReleases.append((core.devices[device].onTerminate, core.devices[device].onLaunch))
                core.devices[device].onTerminate = nil
                core.devices[device].onLaunch = nil
                _ = core.kill(device)
            }
            core.forgetEvents()
        }
        if ownsDirectory { try? FileManager.default.removeItem(at: directory) }
    }

    /// The first watch, which is the only one by default.
    public var watch: SimulatedDevice { watches[0] }

    /// The watch that the phone talks to.
    public var activeWatch: SimulatedDevice { watches[core.withCore { $0.activeWatch } - 1] }

    /// Makes the phone talk to another watch. The phone's session becomes inactive, is deactivated once everything from
    /// the old watch has been delivered, and must be activated again. Transfers to and from the old watch wait until it
    /// is active again.
    public func switchTo(_ watch: SimulatedDevice) {
        guard watches.contains(watch) else { return }
        core.withCore { $0.switchTo(watch.index) }
    }

    /// The conditions that apply from now on.
    public var conditions: SimulatedWatchConditions {
        get { core.withCore { $0.conditions } }
        set { core.withCore { $0.conditions = newValue } }
    }

    /// The counts since the start.
    public var statistics: SimulatedWatchStatistics { core.withCore { $0.statistics } }
    /// The newest trace entries, up to the limit.
    public var trace: [SimulatedWatchTraceEntry] { core.withCore { $0.trace.entries } }
    /// The seed and the trace, one line each, for the output of a failing test.
    public var report: String { (["seed \(seed)"] + trace.map(\.description)).joined(separator: "\n") }
}

// MARK: - Time

extension SimulatedWatchPair {
    /// Virtual time since the start.
    public var elapsed: Duration { clock.elapsed }

    /// Runs everything that is due within a duration, then advances the clock by it. Ignores negative durations.
    /// - Returns: The number of calls into apps.
    @discardableResult
    public func advance(by duration: Duration) -> Int {
        offMainThread {
            let target = self.end(after: duration)
            let count = self.run(until: target, stopsWhenIdle: false)
            self.core.withCore { $0.moveClock(to: target) }
            return count
        }
    }

    /// Runs until nothing is in progress, and advances the clock to the last event. Timers due before that run too, but
    /// `runUntilIdle` doesn't wait for later ones, nor for transfers that the devices' state blocks.
    /// - Parameter limit: Maximum virtual time to run.
    /// - Returns: The number of calls into apps.
    @discardableResult
    public func runUntilIdle(within limit: Duration = .seconds(600)) -> Int {
        offMainThread { self.run(until: self.end(after: limit), stopsWhenIdle: true) }
    }

    /// True if nothing is in progress. `runUntilIdle` would at most deliver pending calls.
    public var isIdle: Bool { core.withCore { $0.isIdle } }

    /// Advances virtual time with real time from now on, and calls apps on the pair's serial queue. Accurate to a few
    /// milliseconds; not deterministic. Idempotent.
    public func runInRealTime() {
        core.withCore { $0.passesByItself = true }
        ticker.withLock { ticker in
            guard ticker == nil else { return }
            let last = Locked(DispatchTime.now())
            let source = DispatchSource.makeTimerSource(queue: queue)
            source.setEventHandler { [weak self] in
                let now = DispatchTime.now()
                let passed = last.withLock { last in
                    defer { last = now }
                    return now.uptimeNanoseconds - last.uptimeNanoseconds
                }
                self?.advance(by: Duration(nanoseconds: passed))
            }
            source.schedule(deadline: .now(), repeating: .milliseconds(2))
            source.resume()
            ticker = source
        }
    }

    private func end(after duration: Duration) -> UInt64 {
        core.withCore { core in
            let (sum, isBeyond) = core.now.addingReportingOverflow(duration.nanoseconds)
            return isBeyond ? .max : sum
        }
    }

    private func run(until limit: UInt64, stopsWhenIdle: Bool) -> Int {
        let thread = ObjectIdentifier(Thread.current)
        precondition(performer.withLock { $0 != thread }, "called from one of its own callbacks")
        return turn.withLock { _ in
            performer.withLock { $0 = thread }
            defer { performer.withLock { $0 = nil } }
            var count = 0
            while let step = core.withCore({ $0.nextStep(until: limit, stopsWhenIdle: stopsWhenIdle) }) {
                count += perform(step)
            }
            return count
        }
    }

    private func perform(_ step: PairCore.Step) -> Int {
        switch step {
        case .timer(let body):
            body()
            return 0
        case .launch(let process, let body):
            AppProcess.$current.withValue(process) { body(process.session) }
            return 1
        case .call(let call):
            call.perform()
            let (leftover, onTerminate) = core.withCore { $0.finish(call) }
            if let leftover { try? FileManager.default.removeItem(at: leftover) }
            onTerminate?()
            return 1
        case .copy(let copy):
            let error = copy.perform()
            let isOfUse = core.withCore { $0.copied(copy, error) }
            if !isOfUse { try? FileManager.default.removeItem(at: copy.destination.deletingLastPathComponent()) }
            return 0
        }
    }

    private func offMainThread(_ body: @escaping @Sendable () -> Int) -> Int {
        guard MainThread.isCurrent else { return body() }
        let count = Locked(0)
        let isDone = DispatchSemaphore(value: 0)
        queue.async {
            let result = body()
            count.withLock { $0 = result }
            isDone.signal()
        }
        isDone.wait()
        return count.withLock { $0 }
    }
}
