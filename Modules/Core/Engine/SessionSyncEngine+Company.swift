public import MeshIdentity

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

extension SessionSyncEngine {
    /// The number of the view in which this engine is.
    public var view: UInt64 { 0 }

    /// The members are about to decide on the next view: nothing more is confirmed until they have.
    public var isChangingView: Bool { false }

    /// Lets that peer join this group of two or more. Who was a member once may join anyway.
    public mutating func invite(_ peerID: String) {}

    /// The peers of which the caller has not heard for long; each time all of them. Members that a majority of the others
    /// suspects too are let go.
    public mutating func suspect(_ peerIDs: Set<String>) {}

    /// The user's word that those are not waited for any more, whether a majority is here or not.
    public mutating func goOn(without peerIDs: Set<String>) {}

    /// Leaves the group as soon as the others have agreed.
    public mutating func leave() {}

    /// Takes events that a member hands on.
    public mutating func receiveRelay(_ envelope: SessionSyncEnvelope<SessionRelay<Event>>, at moment: Date) throws {}
}
