import Foundation
import MeshEngine

/// The choice of the session's clock. `ClockOffsetEstimate` measures other clocks.
extension SessionCore {
    /// The member with the lowest peer ID.
    var clockOwner: String {
        let lowest = engine.membership.open.map(\.source.peerID).min { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        return lowest ?? engine.localPeerID
    }

    /// Returns the moment from which the session's clock is known to run steadily; nil if unknown.
    func clockSteadySince(_ offset: ClockOffsetEstimate?, isLocal: Bool) -> Date? {
        guard !engine.isProvisional, isLocal || offset != nil else { return nil }
        // Before there is a group, other devices' events may carry moments of a clock that isn't measured yet.
        let knowsOnlyItself = heard.isEmpty && engine.held.entries.allSatisfy { $0.source.peerID == engine.localPeerID }
        guard engine.isSealed || knowsOnlyItself else { return nil }
        return [isLocal ? steadySince : offset?.steadySince, ownerChange?.at].compactMap { $0 }.max()
    }

    /// Notes a change of the clock's owner. Moments by the two owners' clocks can't be compared.
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
