import Foundation
import MeshEngine

/// Whose clock the session goes by.
extension SessionCore {
    /// The member with the lowest peer id.
    var clockOwner: String {
        let lowest = engine.membership.open.map(\.source.peerID).min { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        return lowest ?? engine.localPeerID
    }

    /// The moment of the session's clock from which it is known to run steadily; nil while nothing is known of it.
    func clockSteadySince(_ offset: ClockOffsetEstimate?, isLocal: Bool) -> Date? {
        // What a peer shows here is by a clock that this device does not know yet.
        guard !engine.isProvisional, isLocal || offset != nil else { return nil }
        return [isLocal ? steadySince : offset?.steadySince, ownerChange?.at].compactMap { $0 }.max()
    }

    /// A tap at a moment that the session's clock has not shown yet is by an earlier one: the clock was set back, and will show all
    /// moments up to then again.
    mutating func noteMoment(_ tapped: Date) {
        guard let (owner, since) = ownerChange, (since ?? .distantPast) <= tapped else { return }
        let offset = engine.clockOffset(of: owner, at: moment.now)
        guard offset != nil || owner == engine.localPeerID else { return }
        let ahead = tapped.timeIntervalSince(moment.now) - (offset?.offsetSeconds ?? 0)
        if ahead > Self.aheadMax + (offset?.errorSeconds ?? 0) { ownerChange = (owner, tapped + 0.001) }
    }

    /// Seconds by which the moment of a tap may be ahead, as its device knows the session's clock.
    private static var aheadMax: TimeInterval { 1 }

    /// - Parameter earlier: the clock of an earlier launch with which this one goes on.
    mutating func keepClock(_ bootID: String, origin: Date, _ earlier: StoredClock?) {
        startedClock = StoredClock(bootID: bootID, origin: origin, steadySince: steadySince)
        guard let earlier else { return }
        steadySince = earlier.steadySince
        guard let owner = earlier.owner else { return }
        ownerChange = (owner, earlier.ownerSince)
        if let bounds = earlier.bounds { engine.restoreClock(of: owner, bounds) }
    }

    /// What the next launch can go on with.
    var currentClock: StoredClock? {
        guard var clock = startedClock else { return nil }
        clock.steadySince = steadySince
        (clock.owner, clock.ownerSince) = (ownerChange?.owner, ownerChange?.at)
        clock.bounds = clock.owner.flatMap { engine.clockBounds(of: $0) }
        return clock
    }

    /// Moments by the clock of a member that has gone, or that another one has come before, are not those of the next.
    mutating func noteClockOwner() {
        guard engine.isSealed else { return }
        let (owner, last) = (clockOwner, ownerChange?.owner)
        guard owner != last else { return }
        let shown = [owner, last].compactMap { $0 }.map { peerID in
            moment.now.addingTimeInterval(engine.clockOffset(of: peerID, at: moment.now)?.offsetSeconds ?? 0)
        }
        ownerChange = (owner, last == nil ? nil : shown.max())
    }
}
