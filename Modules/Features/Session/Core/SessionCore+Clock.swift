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
        guard !engine.isProvisional, isLocal || offset != nil else { return nil }
        // Before there is a group, another device's taps show moments of a clock that this device does not know.
        let knowsOnlyItself = heard.isEmpty && engine.held.entries.allSatisfy { $0.source.peerID == engine.localPeerID }
        guard engine.isSealed || knowsOnlyItself else { return nil }
        return [isLocal ? steadySince : offset?.steadySince, ownerChange?.at].compactMap { $0 }.max()
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
