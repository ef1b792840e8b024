import Dispatch
public import Foundation
import MeshBase

/// A phone, one or more watches, and the system between them, in virtual time: what happens follows from one seed.
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
/// Nothing happens by itself, unless `runInRealTime()` was called: delegates and handlers are called, and timers run, inside
/// `advance(by:)` and `runUntilIdle()`, one at a time, on the thread that calls these; if that is the main thread, then on
/// another one while the main thread waits. Equal seeds and equal calls give equal traces. Safe to use from any thread;
/// calls of the two take turns, and must not be made by what they call.
///
/// It keeps at most 100,000 transfers of each kind and direction, and 10,000 messages; what exceeds that ends in an error.
/// The simulation, and its folder, end when the pair goes.
public final class SimulatedWatchPair: Sendable {
    /// The seed that decides everything that happens.
    public let seed: UInt64
    /// The phone of the pair.
    public let phone: SimulatedDevice
    /// The first is the one that the phone talks to at first.
    public let watches: [SimulatedDevice]
    /// Virtual time, for transports.
    public let clock: SimulatedWatchClock
    /// The folder with the files that have arrived and wait for their app.
    public let directory: URL

    private let core: Locked<PairCore>
    private let turn = Locked(())
    /// The thread that has the turn.
    private let performer = Locked<ObjectIdentifier?>(nil)
    private let queue = DispatchQueue(label: "SimulatedWatchPair")
    private let ticker = Locked<(any DispatchSourceTimer)?>(nil)
    private let ownsDirectory: Bool

    /// Creates a phone and its watches, none of which runs an app yet.
    ///
    /// - Parameters:
    ///   - watches: how many are paired with the phone; at least one.
    ///   - directory: an existing folder for files; nil makes one when it is needed, and deletes it with the pair.
    ///   - start: the virtual wall clock's first moment.
    ///   - traceLimit: how many of the newest trace entries are kept.
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
                core.dropped.append((core.devices[device].onTerminate, core.devices[device].onLaunch))
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

    /// The one that the phone talks to.
    public var activeWatch: SimulatedDevice { watches[core.withCore { $0.activeWatch } - 1] }

    /// Has the phone talk to another watch. Its app's session becomes inactive, is deactivated once everything of the old
    /// watch has been delivered, and must be activated anew. Transfers of the old watch wait until it is the active one again.
    public func switchTo(_ watch: SimulatedDevice) {
        guard watches.contains(watch) else { return }
        core.withCore { $0.switchTo(watch.index) }
    }

    /// The conditions that apply from now on.
    public var conditions: SimulatedWatchConditions {
        get { core.withCore { $0.conditions } }
        set { core.withCore { $0.conditions = newValue } }
    }

    /// Counts since the start.
    public var statistics: SimulatedWatchStatistics { core.withCore { $0.statistics } }
    /// The newest entries, up to the limit.
    public var trace: [SimulatedWatchTraceEntry] { core.withCore { $0.trace.entries } }
    /// The seed and the trace, a line each: for a failing test to print.
    public var report: String { (["seed \(seed)"] + trace.map(\.description)).joined(separator: "\n") }
}

// MARK: - Time

extension SimulatedWatchPair {
    /// Virtual time since the start.
    public var elapsed: Duration { clock.elapsed }

    /// Does what is due within that time and moves the clock there. Negative durations move nothing.
    /// - Returns: how often apps were called.
    @discardableResult
    public func advance(by duration: Duration) -> Int {
        offMainThread {
            let target = self.end(after: duration)
            let count = self.run(until: target, stopsWhenIdle: false)
            self.core.withCore { $0.moveClock(to: target) }
            return count
        }
    }

    /// Does what is due until nothing is under way any more, and moves the clock to the last of it. Timers of others run when
    /// their time falls before that, but are not waited for, nor is what cannot go on as the devices are.
    /// - Parameter limit: virtual time after which it ends in any case.
    /// - Returns: how often apps were called.
    @discardableResult
    public func runUntilIdle(within limit: Duration = .seconds(600)) -> Int {
        offMainThread { self.run(until: self.end(after: limit), stopsWhenIdle: true) }
    }

    /// Whether `runUntilIdle` would do nothing but call apps that have something to be told.
    public var isIdle: Bool { core.withCore { $0.isIdle } }

    /// Lets virtual time pass with real time from now on, and calls apps on a serial queue of the pair. Accurate to
    /// some milliseconds, and not deterministic. Idempotent.
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
        precondition(performer.withLock { $0 != thread }, "called from within what it calls")
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
            let (leftover, told) = core.withCore { $0.finish(call) }
            if let leftover { try? FileManager.default.removeItem(at: leftover) }
            told?()
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
