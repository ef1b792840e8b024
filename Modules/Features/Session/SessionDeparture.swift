public import Foundation
public import MeshEngine

/// A member that the session goes on without, as far as this device has been told.
public struct SessionDeparture: Hashable, Sendable {
    /// Why the session goes on without it.
    public enum Reason: Hashable, Sendable {
        /// It said that it leaves.
        case left
        /// It was not heard for `SyncedSessionConfiguration.memberTimeout`: here since that moment, by the local clock; nil is
        /// never.
        case silent(since: Date?)
        /// It lives on under another name: it lost its store, or that had gone back to an earlier moment.
        case replaced
        /// The user of that device did not want to wait (`removeMember(_:)`); perhaps of this one.
        case goneOn(by: String)
        /// It is this device itself that the others went on without. It takes another name and joins again.
        case fenced
        /// The others have agreed on it while this device did not hear them.
        case untold
    }

    /// The source that left. A peer that returns is a member under another source.
    public let source: SessionSource
    /// Why the session goes on without it.
    public let reason: Reason
    /// When this device heard of it, by its own clock.
    public let moment: Date
    /// The view that goes on without it; the same number where a member was replaced by its next life.
    public let viewNumber: UInt64

    /// The `SessionPeer.id` of ``source``.
    public var peerID: String { source.peerID }
}
