public import Foundation
import MeshBus
public import MeshEngine
public import MeshTimerAnchor

/// The time that all members of a session show: the wall clock of the member with the lowest peer id.
///
/// Devices' clocks differ, sometimes by minutes. An anchor that one device set would be read wrongly on the other; so
/// moments of taps are given, and anchors read, by this clock. On its owner it is exact, elsewhere an estimate from round
/// trips whose error is stated.
public struct SessionClock: Hashable, Sendable {
    /// Whose wall clock it is.
    public let peerID: String
    /// How much it is ahead of the local wall clock; nil on its owner, and before the first round trip.
    public let offset: ClockOffsetEstimate?
    /// Whether it is this device's own.
    public let isLocal: Bool

    /// Seconds by which a moment may be wrong; nil when that is not known yet.
    public var errorSeconds: TimeInterval? { isLocal ? 0 : offset?.errorSeconds }

    /// What it shows when the local wall clock shows that moment.
    public func moment(atLocal moment: Date) -> Date { moment.addingTimeInterval(offset?.offsetSeconds ?? 0) }

    /// What the local wall clock shows then.
    public func local(_ moment: Date) -> Date { offset?.local(moment) ?? moment }
}

extension SyncedSession {
    /// The session's clock as it is known now. The members may find a better one when they meet: until then it is the
    /// device's own.
    public var clock: SessionClock {
        let lowest = core.engine.membership.open.map(\.source.peerID).min { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        let peerID = lowest ?? core.engine.localPeerID
        let isLocal = peerID == core.engine.localPeerID
        return SessionClock(
            peerID: peerID, offset: isLocal ? nil : core.engine.clockOffset(of: peerID), isLocal: isLocal)
    }

    /// The session's time now: what to give an event, and what to read an anchor at.
    public var now: Date { clock.moment(atLocal: configuration.now()) }

    /// A timer as it stands now: phase and times from one moment and from the anchor alone, so that they cannot contradict
    /// each other, alike on all members to within the stated error.
    public func reading(of anchor: SessionTimerAnchor) -> SessionTimerReading {
        let clock = clock
        return anchor.reading(
            at: clock.moment(atLocal: configuration.now()), errorSeconds: clock.errorSeconds)
    }
}
