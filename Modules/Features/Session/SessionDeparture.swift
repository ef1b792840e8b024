public import Foundation
public import MeshEngine

/// A member that the session goes on without, as far as this device has been told.
public struct SessionDeparture: Hashable, Sendable {
    /// Why the session goes on without it.
    public enum Reason: Hashable, Sendable {
        /// The member announced that it leaves.
        case left
        /// The member wasn't heard for `SyncedSessionConfiguration.memberTimeout`: on this device since that moment, by
        /// the local clock; nil if it was never heard.
        case silent(since: Date?)
        /// The member continues under another source: it lost its store, or the store had gone back to an earlier
        /// moment.
        case replaced
        /// The user of that device did not want to wait (`removeMember(_:)`); perhaps of this one.
        case goneOn(by: String)
        /// The others went on without this device. It takes another source and joins again.
        case fenced
        /// The others have agreed on it while this device did not hear them.
        case untold
    }

    /// The source that left. A peer that returns is a member under another source.
    public let source: SessionSource
    /// Why the session goes on without it.
    public let reason: Reason
    /// The moment at which this device learned of it, by its own clock.
    public let moment: Date
    /// The view that goes on without it; the same number where a member was replaced by its next life.
    public let viewNumber: UInt64

    /// The `SessionPeer.id` of ``source``.
    public var peerID: String { source.peerID }
}
