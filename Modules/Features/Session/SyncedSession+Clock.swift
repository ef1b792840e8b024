public import Foundation
import MeshBase
public import MeshEngine
public import MeshTimerAnchor
import MeshTransport

/// The time that all members of a session show: the clock of the member with the lowest peer ID.
///
/// Devices' clocks differ, sometimes by minutes, so one device would misread an anchor that another one set. Stamp taps
/// and read anchors by this clock instead. It is exact on its owner, and elsewhere an estimate with a stated error.
///
/// Each device reads its wall clock when it opens the session, and counts uptime from then on. Setting the wall clock
/// has no effect until the next launch reads it; `steadySince` then shows the change.
public struct SessionClock: Hashable, Sendable {
    /// The member that owns the clock.
    public let peerID: String
    /// The time by which this clock is ahead of the local device's. nil on the clock's owner, and before the first
    /// round trip.
    public let offset: ClockOffsetEstimate?
    /// True if this device owns the clock.
    public let isLocal: Bool
    /// The moment from which this clock is known to run steadily; nil if unknown. An earlier moment may come from a
    /// clock that was set since.
    public let steadySince: Date?
    /// Seconds by which the local wall clock was set ahead since the session was opened.
    let setSeconds: TimeInterval

    /// The error bound of a moment, in seconds; nil if not known yet.
    public var errorSeconds: TimeInterval? { isLocal ? 0 : offset?.errorSeconds }

    /// Converts a moment of the local wall clock to this clock.
    public func moment(atLocal moment: Date) -> Date { moment.addingTimeInterval(aheadSeconds) }

    /// Converts a moment of this clock to the local wall clock.
    public func local(_ moment: Date) -> Date { moment.addingTimeInterval(-aheadSeconds) }

    private var aheadSeconds: TimeInterval { (offset?.offsetSeconds ?? 0) - setSeconds }
}

extension SyncedSession {
    /// The session's clock as known now. It is the device's own until members meet and agree on a clock.
    public var clock: SessionClock { clock(at: steadyClock.now) }

    private func clock(at moment: Date) -> SessionClock {
        let peerID = core.clockOwner
        let isLocal = peerID == core.engine.localPeerID
        let offset = isLocal ? nil : core.engine.clockOffset(of: peerID, at: moment)
        return SessionClock(
            peerID: peerID, offset: offset, isLocal: isLocal,
            steadySince: core.clockSteadySince(offset, isLocal: isLocal),
            setSeconds: steadyClock.wall().timeIntervalSince(moment))
    }

    /// The session's time now. Use it as the moment of an event, and to read an anchor.
    public var now: Date {
        let moment = steadyClock.now
        return moment.addingTimeInterval(clock(at: moment).offset?.offsetSeconds ?? 0)
    }

    /// Returns a timer's phase and times. All come from one moment and the anchor, so they can't contradict each other,
    /// and all members agree within the stated error. The error is nil if the timer started before this device knew the
    /// clock, which may have been set in between.
    public func reading(of anchor: SessionTimerAnchor) -> SessionTimerReading {
        let moment = steadyClock.now
        let clock = clock(at: moment)
        let isSteady = clock.steadySince.map { $0 <= anchor.startedAt } ?? false
        return anchor.reading(
            at: moment.addingTimeInterval(clock.offset?.offsetSeconds ?? 0),
            errorSeconds: isSteady ? clock.errorSeconds : nil)
    }
}
