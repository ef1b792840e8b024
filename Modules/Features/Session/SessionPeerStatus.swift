public import Foundation
public import MeshEngine

/// The status of a peer, as the local session knows it.
public struct SessionPeerStatus: Hashable, Sendable, Identifiable {
    /// The `SessionPeer.id` of the peer.
    public let peerID: String
    /// Whether its state is this device's.
    public let sync: SessionPeerSync
    /// Its engine has been heard within thirty exchange intervals, and the transport does not say that it has gone. Looked at
    /// with each exchange, the next of which may be ten intervals away.
    public let isActive: Bool
    /// Events of this device that it has not said it holds; nil while it is no member of a group.
    public let unacknowledgedCount: UInt64?
    /// Events of this peer that are known to be missing here, and are asked for.
    public let missingCount: UInt64
    /// Whether the transport calls it reachable.
    public let isReachable: Bool
    /// The moment at which the peer's engine was last heard, by the local clock.
    public let lastHeardAt: Date?
    /// Since when it has been heard without a silence of thirty exchange intervals, by the local clock; nil before it was.
    public let heardSince: Date?
    /// The time by which the peer's clock is ahead of the local one; nil before the first round trip.
    public let clockOffset: ClockOffsetEstimate?

    public var id: String { peerID }
}

/// The progress of a peer compared with the events that this device holds.
public enum SessionPeerSync: Hashable, Sendable {
    /// A member that has acknowledged everything.
    case upToDate
    /// A member that has not acknowledged so many events.
    case behind(by: UInt64)
    /// The peer isn't a member yet: its engine hasn't answered, or it has none and takes part by snapshots.
    case waiting
    /// Its state is shown here without the events that led to it.
    case provisional
    /// The peer wants to join, but the group has no place for it: its events aren't accepted.
    case notAdmitted
    /// The peer runs another session of the feature, or another feature: the session's `problems` say which.
    case elsewhere
}
