import MeshFoundation
import MeshSession
import MeshTimerAnchor

/// A record of the timers that taps have started, and of their true running times.
struct TimerLedger: Sendable {
    private struct Timer {
        let tap: UInt32
        let anchor: SessionTimerAnchor
        /// The maximum error of the tap's time in seconds.
        let error: TimeInterval
        /// The start in true time.
        let began: Duration
        /// Devices whose apps have been launched since the timer began.
        var launched: Set<Int> = []
    }

    private var timers: [Timer] = []
    /// The number of readings that stated an error.
    private(set) var readingCount = 0

    /// The maximum number of timers. The oldest are forgotten first.
    private static var countMax: Int { 16 }

    mutating func begin(_ tap: UInt32, at moment: Date, error: TimeInterval?, elapsed: Duration) {
        guard let error else { return }
        if timers.count == Self.countMax { timers.removeFirst() }
        timers.append(Timer(tap: tap, anchor: .start(at: moment), error: error, began: elapsed))
    }

    /// Forgets timers that a relaunch may have moved. Once both apps have been relaunched, neither knows how the clocks
    /// have changed. A relaunch on the phone alone is enough, because the session uses the phone's clock. Its store may
    /// lack taps, so the relaunched app can't always tell which taps used the earlier clock.
    mutating func noteLaunch(of device: Int) {
        for index in timers.indices { timers[index].launched.insert(device) }
        timers.removeAll { $0.launched.count == 2 || device == 0 }
    }

    /// Returns the fault of a timer in the session's state that shows a wrong time, or nil.
    @MainActor mutating func fault(in session: SessionWatchApp.Session, elapsed: Duration) -> String? {
        let taps = Set(session.state)
        for timer in timers where taps.contains(timer.tap) {
            let reading = session.reading(of: timer.anchor)
            guard let error = reading.errorSeconds else { continue }
            readingCount += 1
            let passed = (elapsed - timer.began) / .seconds(1)
            guard abs(reading.elapsed - passed) > error + timer.error + 1e-4 else { continue }
            return "timer \(timer.tap) shows \(reading.elapsed) ± \(error), begun ± \(timer.error), after \(passed) s"
        }
        return nil
    }
}
