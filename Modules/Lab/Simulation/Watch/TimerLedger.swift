import MeshSession
import MeshTimerAnchor

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Timers that taps have begun, and how long they have really run.
struct TimerLedger: Sendable {
    private struct Timer {
        let tap: UInt32
        let anchor: SessionTimerAnchor
        /// By how much the moment of the tap may be wrong.
        let error: TimeInterval
        /// When it began, in the time that passes for all devices.
        let began: Duration
        /// The owner of the clock has begun another one since.
        var isMoved = false
        /// The other device has been launched since, and may not have seen that.
        var isUnknown = false
    }

    private var timers: [Timer] = []
    private var ownersBoot: Int?
    /// Readings whose error was stated.
    private(set) var readingCount = 0

    /// Of more timers the oldest are forgotten.
    private static var countMax: Int { 16 }

    mutating func begin(_ tap: UInt32, at moment: Date, error: TimeInterval?, elapsed: Duration) {
        guard let error else { return }
        if timers.count == Self.countMax { timers.removeFirst() }
        timers.append(Timer(tap: tap, anchor: .start(at: moment), error: error, began: elapsed))
    }

    /// - Parameter boot: how often the device had been started; nil where its app has no store, and each launch begins a clock.
    mutating func noteLaunch(of device: Int, boot: Int?) {
        guard device == 0 else {
            for index in timers.indices { timers[index].isUnknown = true }
            return
        }
        if boot == nil || boot != ownersBoot { for index in timers.indices { timers[index].isMoved = true } }
        ownersBoot = boot
    }

    /// A timer that the session's state has, and that shows another time than has passed; nil where none does.
    ///
    /// The device that doesn't own the clock can't judge a timer if it wasn't running while the owner began another clock.
    @MainActor mutating func fault(on device: Int, in session: SessionWatchApp.Session, elapsed: Duration) -> String? {
        let taps = Set(session.state)
        for timer in timers where taps.contains(timer.tap) && !(device == 1 && timer.isMoved && timer.isUnknown) {
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
