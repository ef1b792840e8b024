import MeshFoundation
import MeshSession
import MeshTimerAnchor

/// Timers that taps have begun, and how long they have really run.
struct TimerLedger: Sendable {
    private struct Timer {
        let tap: UInt32
        let anchor: SessionTimerAnchor
        /// By how much the moment of the tap may be wrong.
        let error: TimeInterval
        /// When it began, in the time that passes for all devices.
        let began: Duration
        /// Devices that have been launched since.
        var launched: Set<Int> = []
    }

    private var timers: [Timer] = []
    /// Readings whose error was stated.
    private(set) var readingCount = 0

    /// Of more timers the oldest are forgotten.
    private static var countMax: Int { 16 }

    mutating func begin(_ tap: UInt32, at moment: Date, error: TimeInterval?, elapsed: Duration) {
        guard let error else { return }
        if timers.count == Self.countMax { timers.removeFirst() }
        timers.append(Timer(tap: tap, anchor: .start(at: moment), error: error, began: elapsed))
    }

    /// Forgets timers that a relaunch may have moved. Where no device has run since a timer began, none knows what clocks have done.
    /// The phone, whose clock counts, can't tell in each case which taps are by its earlier clock: its store may lack them.
    mutating func noteLaunch(of device: Int) {
        for index in timers.indices { timers[index].launched.insert(device) }
        timers.removeAll { $0.launched.count == 2 || device == 0 }
    }

    /// A timer that the session's state has, and that shows another time than has passed; nil where none does.
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
