import MeshBase
import MeshSimulatedWatch
import MeshTransport

/// A week of workouts that begin on the phone while the watch app is suspended or killed, or in rare cases open. An
/// ordinary change arrives when the user next opens the watch app. An urgent one wakes the watch app.
///
/// Each workout begins with ordinary events, followed by an urgent event, and often an urgent shared value and stored
/// key at once. On the fourth day the complication isn't on the watch face. On the sixth day more workouts begin than
/// the system's budget has wakes.
///
/// These must hold:
///
/// - An urgent change arrives within 15 seconds if there is budget and the watch is in range.
/// - Changes made together cost one wake.
/// - No day spends more than 50 wakes, and a day without a complication none.
/// - No tap arrives twice, and both devices are equal in the end.
@available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
public struct WakeWeekSimulation: SeedSimulation {
    /// False to send the same changes without urgency.
    public var isUrgent: Bool

    public init(isUrgent: Bool = true) { self.isUrgent = isUrgent }

    public func run(seed: UInt64, trace: Trace?) -> SeedOutcome {
        SimulationThread.run { [self] thread in
            WakeWeekRun(self, seed: seed, thread: thread, traceLimit: trace == nil ? 0 : 100_000).outcome(trace)
        }
    }
}

@available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
private final class WakeWeekRun: PairRun<WakeApp> {
    private enum Kind { case tap, value, key }

    /// A change on the phone that the watch doesn't show yet.
    private struct Change {
        let kind: Kind
        let number: UInt32
        let at: Duration
        let isUrgent: Bool
        /// True if the change must wake the watch app and so arrive within `patience`.
        let wakes: Bool
    }

    private let simulation: WakeWeekSimulation
    private let ledger = Locked(TapLedger())
    private var lastNumber: UInt32 = 0
    private var missing: [Change] = []
    private var groupCount = 0
    private var urgentCount = 0
    private var wakesByDay: [Int] = []
    private var soonSeconds: [Double] = []
    private var lateHours: [Double] = []

    private static let day = Duration.seconds(86_400)
    private static let patience = Duration.seconds(15)

    init(_ simulation: WakeWeekSimulation, seed: UInt64, thread: SimulationThread, traceLimit: Int) {
        self.simulation = simulation
        var conditions = SimulatedWatchConditions.calm
        conditions.backgroundTime = .seconds(15)
        super.init(seed: seed, conditions: conditions, thread: thread, traceLimit: traceLimit)
        install { [failure] in try WakeApp($0, failure: failure) }
    }

    override func count(_ outcome: inout SeedOutcome) {
        outcome.counts = [
            "changes": Int(lastNumber), "urgent": urgentCount, "wakes": pair.statistics.complicationTransfers,
            "soon": soonSeconds.count, "late": lateHours.count,
        ]
        outcome.greatest = [
            "medianSoonSeconds": median(soonSeconds), "slowestSoonSeconds": soonSeconds.max() ?? 0,
            "medianLateHours": median(lateHours), "slowestLateHours": lateHours.max() ?? 0,
        ]
        let days = wakesByDay.enumerated().map { ("day \($0 + 1)", $1) }
        outcome.tables = ["wakesOfDays": Dictionary(uniqueKeysWithValues: days)]
    }

    private func median(_ values: [Double]) -> Double { values.isEmpty ? 0 : values.sorted()[values.count / 2] }

    override func play() -> String? {
        for device in devices { device.launch() }
        if let fault = watch(for: .seconds(10)) { return fault }
        sleep(1)
        for day in 0..<7 {
            pair.watch.isComplicationEnabled = day != 3
            let before = pair.statistics.complicationTransfers
            for step in plan(of: day) {
                if let fault = rest(until: Self.day * day + step.at) ?? (step.opensWatch ? openWatch() : workOut()) {
                    return "day \(day + 1): \(fault)"
                }
            }
            if let fault = rest(until: Self.day * (day + 1) - .seconds(1)) { return fault }
            let spent = pair.statistics.complicationTransfers - before
            wakesByDay.append(spent)
            guard spent <= (day == 3 ? 0 : 50) else { return "\(spent) wakes were spent on day \(day + 1)" }
        }
        guard pair.statistics.complicationTransfers <= groupCount else {
            return "\(pair.statistics.complicationTransfers) wakes for \(groupCount) groups of urgent changes"
        }
        return compare()
    }

    /// Returns the moments of a day, in order, at which the user begins a workout or opens the watch app.
    private func plan(of day: Int) -> [(at: Duration, opensWatch: Bool)] {
        let workouts = day == 5 ? 80 : 3 + Int(random.upTo(12))
        let moments = (0..<workouts + 4).map { index in
            (at: Duration.seconds(Int64(18_000 + random.upTo(63_000))), opensWatch: index >= workouts)
        }
        return moments.sorted { $0.at < $1.at }
    }

    // MARK: Users

    private func workOut() -> String? {
        devices[0].launch()
        if random.happens(rate: 0.1) { moveApart(for: .seconds(Int64(600 + random.upTo(3000)))) }
        if let fault = watch(for: .milliseconds(Int64(500 + random.upTo(3000)))) { return fault }
        for _ in 0..<random.upTo(3) { change(.tap, isUrgent: false, wakes: false) }
        if random.happens(rate: 0.5), let fault = watch(for: .seconds(1)) { return fault }
        groupCount += simulation.isUrgent ? 1 : 0
        let budget = apps.withLock { $0[0] }?.remainingWakes ?? 0
        let wakes = simulation.isUrgent && budget > 0 && meeting == nil
        if random.happens(rate: 0.5) { change(.value, isUrgent: simulation.isUrgent, wakes: wakes) }
        if random.happens(rate: 0.5) { change(.key, isUrgent: simulation.isUrgent, wakes: wakes) }
        change(.tap, isUrgent: simulation.isUrgent, wakes: wakes)
        if let fault = watch(for: .seconds(20)) { return fault }
        sleep(0)
        return nil
    }

    private func openWatch() -> String? {
        devices[1].launch()
        if let fault = watch(for: .seconds(20)) { return fault }
        if random.happens(rate: 0.3) { devices[1].kill() } else { sleep(1) }
        return nil
    }

    private func sleep(_ index: Int) {
        devices[index].enterBackground()
        devices[index].suspend()
    }

    private func change(_ kind: Kind, isUrgent: Bool, wakes: Bool) {
        lastNumber += 1
        if isUrgent { urgentCount += 1 }
        let urgency: SessionUrgency = isUrgent ? .wake : .normal
        let app = apps.withLock { $0[0] }
        switch kind {
        case .tap: app?.tap(lastNumber, ledger, urgency)
        case .value: app?.setValue(lastNumber, urgency)
        case .key: app?.setKey(lastNumber, urgency)
        }
        thread.runAll()
        missing.append(Change(kind: kind, number: lastNumber, at: pair.elapsed, isUrgent: isUrgent, wakes: wakes))
    }

    // MARK: Time

    /// Lets virtual time pass in steps of a minute.
    private func rest(until end: Duration) -> String? { go(until: end, step: .seconds(60)) }
    private func watch(for time: Duration) -> String? { go(until: pair.elapsed + time, step: .milliseconds(100)) }

    private func go(until end: Duration, step: Duration) -> String? {
        while pair.elapsed < end {
            if let meeting, meeting <= pair.elapsed { meet() }
            pass(min(step, end - pair.elapsed))
            for app in apps.withLock({ $0 }) { app?.noteTaps(in: ledger) }
            thread.runAll()
            if let fault = failure.withLock({ $0 }) ?? noteArrivals() { return fault }
        }
        return nil
    }

    private func noteArrivals() -> String? {
        guard !missing.isEmpty else { return nil }
        let shown = view(of: 1)
        let taps = Set(shown?.taps ?? [])
        if let shown, taps.count < shown.taps.count { return "the watch shows a tap twice: \(shown.taps)" }
        let arrived = missing.filter { change in
            switch change.kind {
            case .tap: taps.contains(change.number)
            case .value: shown?.value ?? 0 >= change.number
            case .key: shown?.key ?? 0 >= change.number
            }
        }
        for change in arrived where change.isUrgent || !simulation.isUrgent {
            let time = pair.elapsed - change.at
            if time <= Self.patience {
                soonSeconds.append(time / .seconds(1))
            } else {
                lateHours.append(time / .seconds(3600))
            }
        }
        let numbers = Set(arrived.map(\.number))
        missing.removeAll { numbers.contains($0.number) }
        let late = missing.first { $0.wakes && pair.elapsed - $0.at > Self.patience }
        return late.map { "the urgent \($0.kind) \($0.number) is missing after \(pair.elapsed - $0.at)" }
    }

    private func view(of device: Int) -> WakeView? {
        let found = Locked<WakeView?>(nil)
        apps.withLock { $0[device] }?.look { view in found.withLock { $0 = view } }
        thread.runAll()
        return found.withLock { $0 }
    }

    private func compare() -> String? {
        meet()
        for device in devices { device.launch() }
        if let fault = watch(for: .seconds(60)) { return fault }
        let (phone, watch) = (view(of: 0), view(of: 1))
        guard let phone, let watch else { return "no session" }
        guard phone == watch else { return "the phone shows \(phone) and the watch \(watch)" }
        return ledger.withLock { $0.fault(in: phone.taps) }
    }
}
