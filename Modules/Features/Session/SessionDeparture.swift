public import Foundation
public import MeshEngine

/// A member that left the group or was removed, as far as this device knows.
public struct SessionDeparture: Hashable, Sendable {
    /// The reason why the group continues without a member.
    public enum Reason: Hashable, Sendable {
        /// The member announced that it leaves.
        case left
        /// The member wasn't heard for `SyncedSessionConfiguration.memberTimeout`. `since` is the time at which this
        /// device last heard it, by the local clock; nil if it never did.
        case silent(since: Date?)
        /// The member continues under another source: it lost its store, or the store went back to an earlier moment.
        case replaced
        /// A user called `removeMember(_:)` on that device, which may be this one.
        case removed(by: String)
        /// The others removed this device. It takes another source and joins again.
        case fenced
        /// The others agreed on the removal while this device didn't hear them, so it doesn't know the reason.
        case unknown
    }

    /// The source that left. A peer that returns is a member under another source.
    public let source: SessionSource
    /// The reason why the group continues without the member.
    public let reason: Reason
    /// The moment at which this device learned of the departure, by its own clock.
    public let moment: Date
    /// The number of the view without the member; the same as before if its next incarnation replaced it.
    public let viewNumber: UInt64

    /// The `SessionPeer.id` of ``source``.
    public var peerID: String { source.peerID }
}
