public import Foundation
import MeshBase
public import MeshEngine
public import MeshTimerAnchor
import MeshTransport

/// The time that all members of a session show: the clock of the member with the lowest peer id.
///
/// Devices' clocks differ, sometimes by minutes. An anchor that one device set would be read wrongly on the other; so
/// moments of taps are given, and anchors read, by this clock. On its owner it is exact, elsewhere an estimate from round
/// trips whose error is stated.
///
/// Each device reads its wall clock when it opens the session, and counts uptime from there on. To set the wall clock
/// moves nothing before the next launch; the launch after that reads it anew, and `steadySince` says so.
public struct SessionClock: Hashable, Sendable {
    /// The member that owns the clock.
    public let peerID: String
    /// The time by which this clock is ahead of the local device's. nil on the clock's owner, and before the first
    /// round trip.
    public let offset: ClockOffsetEstimate?
    /// Whether it is this device's own.
    public let isLocal: Bool
    /// The moment of this clock from which it is known to run steadily; nil while nothing is known. An earlier moment may have
    /// been given by a clock that was set since.
    public let steadySince: Date?
    /// How much the local wall clock has been set ahead since the session was opened.
    let setSeconds: TimeInterval

    /// Seconds by which a moment may be wrong; nil when that is not known yet.
    public var errorSeconds: TimeInterval? { isLocal ? 0 : offset?.errorSeconds }

    /// Converts a moment of the local wall clock to this clock.
    public func moment(atLocal moment: Date) -> Date { moment.addingTimeInterval(aheadSeconds) }

    /// Converts a moment of this clock to the local wall clock.
    public func local(_ moment: Date) -> Date { moment.addingTimeInterval(-aheadSeconds) }

    private var aheadSeconds: TimeInterval { (offset?.offsetSeconds ?? 0) - setSeconds }
}

extension SyncedSession {
    /// The session's clock as it is known now. The members may find a better one when they meet: until then it is the
    /// device's own.
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

    /// The session's time now: what to give an event, and what to read an anchor at.
    public var now: Date {
        let moment = steadyClock.now
        return moment.addingTimeInterval(clock(at: moment).offset?.offsetSeconds ?? 0)
    }

    /// A timer as it stands now: phase and times from one moment and from the anchor alone, so that they cannot contradict
    /// each other, alike on all members to within the stated error. The error is nil, not known, for a timer that has run
    /// since before this device knew the clock: it may have been set in between.
    public func reading(of anchor: SessionTimerAnchor) -> SessionTimerReading {
        let moment = steadyClock.now
        let clock = clock(at: moment)
        let isSteady = clock.steadySince.map { $0 <= anchor.startedAt } ?? false
        return anchor.reading(
            at: moment.addingTimeInterval(clock.offset?.offsetSeconds ?? 0),
            errorSeconds: isSteady ? clock.errorSeconds : nil)
    }
}
