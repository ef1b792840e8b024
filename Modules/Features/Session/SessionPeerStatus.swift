public import Foundation
public import MeshEngine

/// The status of a peer, as the local session knows it.
public struct SessionPeerStatus: Hashable, Sendable, Identifiable {
    /// The `SessionPeer.id` of the peer.
    public let peerID: String
    /// The progress of the peer compared with this device.
    public let sync: SessionPeerSync
    /// True if the peer's engine was heard within its announced silence plus 20 exchange intervals, and the transport
    /// doesn't report it as gone. Checked with each exchange; two exchanges may be 300 intervals apart.
    public let isActive: Bool
    /// Number of this device's events that the peer hasn't acknowledged; nil if it isn't a member of the group.
    public let unacknowledgedCount: UInt64?
    /// Number of the peer's events that are known to be missing here and were requested.
    public let missingCount: UInt64
    /// True if the transport reports the peer as reachable.
    public let isReachable: Bool
    /// The moment at which the peer's engine was last heard, by the local clock.
    public let lastHeardAt: Date?
    /// The start of the present period in which the peer was never silent for too long (see `isActive`), by the local
    /// clock; nil before it was heard.
    public let heardSince: Date?
    /// The time by which the peer's clock is ahead of the local one; nil before the first round trip.
    public let clockOffset: ClockOffsetEstimate?

    public var id: String { peerID }
}

/// The progress of a peer compared with the events that this device holds.
public enum SessionPeerSync: Hashable, Sendable {
    /// The peer is a member and has acknowledged everything.
    case upToDate
    /// The peer is a member and hasn't acknowledged that many events.
    case behind(by: UInt64)
    /// The peer isn't a member yet: its engine hasn't answered, or it has none and takes part by snapshots.
    case waiting
    /// This device shows the peer's state without the events that led to it.
    case provisional
    /// The peer wants to join, but the group doesn't admit it. Its events aren't accepted.
    case notAdmitted
    /// The peer runs another session of the feature, or another feature; `SyncedSession.problems` says which.
    case elsewhere
}
