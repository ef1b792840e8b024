import Foundation
import MeshBase
import MeshVirtualTime

// A discrete-event simulation. Events are due at virtual times, and calls into apps wait in queues. `nextStep` returns
// the next action to perform outside the lock, so the core itself never calls an app.
//
// A process is one launch of an app. A route is one direction between a watch and the phone. Each route has two lanes
// for transfers (user infos and files), each of which moves one transfer at a time, and one for the application
// context. Arrived transfers wait in the route's inbox until the app has been called.
// Docs/Internals/Glossary.md defines the terms.

/// The state of a simulated pair: its devices, and the content that the system holds for their apps.
struct PairCore {
    /// An action that is due at a virtual time.
    enum Event {
        case timer(@Sendable () -> Void)
        case launches(Int)
        case activates(AppProcess)
        case deactivates(AppProcess)
        case suspends(AppProcess, wakeCount: Int)
        case reachability(AppProcess)
        case flaps
        case flapEnds(Int)
        case messageArrives(UInt64)
        case messageFails(UInt64, WCError.Code)
        case messageExpires(UInt64)
        case replyArrives(UInt64)
        case replyTimesOut(UInt64)
        case transferArrives(route: Int, Transfer.Lane, UInt64)
        case fileProgresses(route: Int, UInt64, quarters: Int64)
        case contextArrives(route: Int)

        /// True if `runUntilIdle` waits for the event. Messages are counted separately; timers belong to clock users.
        var isAwaited: Bool {
            switch self {
            case .timer, .suspends, .flaps, .flapEnds, .messageExpires, .replyTimesOut: false
            default: true
            }
        }
    }

    /// An action to perform without the lock.
    enum Step {
        case timer(@Sendable () -> Void)
        case launch(AppProcess, @Sendable (WCSession) -> Void)
        case call(AppCall)
        case copy(FileCopy)
    }

    /// The lock around this value, for processes that the system launches.
    weak var core: Locked<PairCore>?
    let seed: UInt64
    let directory: URL
    var conditions: SimulatedWatchConditions { didSet { enterNextFlap() } }
    var passesByItself = false
    private(set) var now: UInt64 = 0
    private var timeline = EventQueue<Event>()
    private var awaitedEvents = 0

    /// The phone, followed by the watches.
    var devices: [SimulatedDeviceState]
    /// For each watch, the route from the phone, then the route to the phone.
    var routes: [Route]
    /// The index of the watch that the phone talks to.
    var activeWatch = 1

    var messages: [UInt64: Message] = [:]
    /// The number of messages whose sender doesn't know the outcome yet.
    var awaitedMessages = 0
    private var lastID: UInt64 = 0
    /// Objects to release outside the lock: handlers and delegates, whose deinitializers may run app code.
    var deferredReleases: [Any] = []
    /// The transfer that a delegate is receiving.
    var delivering: (route: Int, id: UInt64)?

    var flapRandom: SplitMix64
    var isFlapPlanned = false
    var trace: SimulatedWatchTrace
    var statistics = SimulatedWatchStatistics()

    static let messagesMax = 10_000
    static let transfersMax = 100_000

    init(seed: UInt64, conditions: SimulatedWatchConditions, watches: Int, directory: URL, traceLimit: Int) {
        self.seed = seed
        self.conditions = conditions
        self.directory = directory
        trace = SimulatedWatchTrace(limit: traceLimit)
        devices = (0...watches).map { SimulatedDeviceState(index: $0, random: Self.random(seed, UInt64($0))) }
        routes = (0..<2 * watches).map { Route(index: $0) { Self.random(seed, $0) } }
        flapRandom = Self.random(seed, 99)
        enterNextFlap()
    }

    /// Returns a separate generator for each purpose, so that draws for one don't shift the others.
    private static func random(_ seed: UInt64, _ purpose: UInt64) -> SplitMix64 {
        var mixer = SplitMix64(seed: purpose &+ 1)
        return SplitMix64(seed: seed ^ mixer.next())
    }

    mutating func nextID() -> UInt64 {
        lastID += 1
        return lastID
    }
}

extension Locked where Value == PairCore {
    /// Like `withLock`, but releases `deferredReleases` after the lock is free.
    func withCore<Result>(_ body: (inout PairCore) throws -> Result) rethrows -> Result {
        var deferredReleases: [Any] = []
        defer { withExtendedLifetime(deferredReleases) {} }
        return try withLock { core in
            defer { if !core.deferredReleases.isEmpty { swap(&core.deferredReleases, &deferredReleases) } }
            return try body(&core)
        }
    }
}

// MARK: - Time

extension PairCore {
    mutating func enter(_ event: Event, at time: UInt64) {
        if event.isAwaited { awaitedEvents += 1 }
        timeline.enter(event, at: time)
    }

    mutating func enter(_ event: Event, after delay: UInt64) {
        let (sum, isBeyond) = now.addingReportingOverflow(delay)
        enter(event, at: isBeyond ? .max : sum)
    }

    mutating func forgetEvents() {
        deferredReleases.append((timeline, messages))
        messages = [:]
        timeline = EventQueue()
        awaitedEvents = 0
    }

    mutating func moveClock(to time: UInt64) { now = max(now, time) }

    var isIdle: Bool { awaitedEvents == 0 && awaitedMessages == 0 }

    /// Returns the next step due by `limit`, and advances the clock to it.
    mutating func nextStep(until limit: UInt64, stopsWhenIdle: Bool) -> Step? {
        while true {
            if let call = nextCall() { return .call(call) }
            guard let (time, event) = timeline.next else { return nil }
            // A void event doesn't advance the clock.
            let isVoid = isVoid(event)
            guard isVoid || time <= limit && !(stopsWhenIdle && isIdle) else { return nil }
            _ = timeline.take()
            if event.isAwaited { awaitedEvents -= 1 }
            if isVoid { continue }
            moveClock(to: time)
            if let step = perform(event) { return step }
        }
    }

    private func isVoid(_ event: Event) -> Bool {
        switch event {
        case .timer, .launches, .flaps, .flapEnds, .contextArrives: false
        case .activates(let process), .deactivates(let process), .reachability(let process): !process.isAlive
        case .suspends(let process, let wakeCount): !process.isAlive || process.wakeCount != wakeCount
        case .messageArrives(let id), .messageFails(let id, _), .replyArrives(let id), .replyTimesOut(let id):
            messages[id] == nil
        case .messageExpires(let id): messages[id].map { $0.receiver != nil } ?? true
        case .transferArrives(let route, let lane, let id): routes[route].lanes[lane].inFlight != id
        case .fileProgresses(let route, let id, _): routes[route].lanes[.file].inFlight != id
        }
    }

    private mutating func perform(_ event: Event) -> Step? {
        switch event {
        case .timer(let body): return .timer(body)
        case .launches(let device): return launchBySystem(device)
        case .activates(let process): completeActivation(of: process)
        case .deactivates(let process): process.isDeactivating = true
        case .suspends(let process, _): suspendWoken(process)
        case .reachability(let process): noticeReachability(process)
        case .flaps: flap()
        case .flapEnds(let device): endFlap(device)
        case .messageArrives(let id): messageArrives(id)
        case .messageFails(let id, let code): resolve(id, failing: code)
        case .messageExpires(let id): expire(id)
        case .replyArrives(let id): replyArrives(id)
        case .replyTimesOut(let id): resolve(id, failing: .messageReplyTimedOut)
        case .transferArrives(let route, let lane, let id): return transferArrives(route, lane, id)
        case .fileProgresses(let route, let id, let quarters): fileProgresses(route, id, quarters)
        case .contextArrives(let route): contextArrives(route)
        }
        return nil
    }

    mutating func record(_ event: SimulatedWatchTraceEntry.Event, on device: Int) {
        trace.record(event, on: devices[device].name, at: now)
    }
}

// MARK: - Routes

/// One direction between two apps, and the content that the system holds for it.
struct Route {
    let index: Int
    /// Indices of the devices.
    let sender: Int
    let receiver: Int
    var lanes = TransferLanes()
    var context = ContextLane()
    /// At the receiver: arrived transfers that the app hasn't received yet.
    var inbox = Queue<Transfer>()
    /// At the sender: finished transfers that the app must be informed about.
    var finished = Queue<(transfer: Transfer, error: WCError.Code?)>()
    var lastMessageTime: UInt64 = 0
    var messageRandom: SplitMix64
    var contextRandom: SplitMix64
    var crashRandom: SplitMix64

    init(index: Int, random: (UInt64) -> SplitMix64) {
        self.index = index
        let watch = index / 2 + 1
        sender = index % 2 == 0 ? 0 : watch
        receiver = index % 2 == 0 ? watch : 0
        let base = UInt64(100 + 10 * index)
        messageRandom = random(base)
        contextRandom = random(base + 1)
        crashRandom = random(base + 2)
        lanes[.userInfo].random = random(base + 3)
        lanes[.file].random = random(base + 4)
    }

    var watch: Int { index / 2 + 1 }
    /// The opposite direction of the same pairing.
    var back: Int { index ^ 1 }
}

extension PairCore {
    /// Returns the route on which an app sends.
    func outgoing(_ process: AppProcess) -> Int {
        process.device == 0 ? 2 * (process.watch - 1) : 2 * (process.device - 1) + 1
    }

    /// Returns true if the two devices can talk: paired, in range, and the watch is the active one.
    func isOpen(_ route: Int) -> Bool {
        let watch = routes[route].watch
        return activeWatch == watch && devices[watch].isPaired && devices[watch].isInRange
    }

    /// Starts transfers that may have waited for a change of the devices' state, and updates reachability.
    mutating func resume() {
        for route in routes.indices {
            startTransfers(route)
            startContext(route)
        }
        watchReachability()
    }
}
