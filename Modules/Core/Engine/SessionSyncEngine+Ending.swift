public import MeshFoundation
public import MeshIdentity

/// The end of a session: a fact that every member learns by the controls of those who know it. From then on nobody submits,
/// so the order is complete once everybody holds what had been accepted before, and nothing of that is lost.
extension SessionSyncEngine {
    /// `submitLocal` throws `SessionSyncError.sessionEnded` from now on, and no peer's state is shown any more. Events that
    /// others had accepted are still taken.
    public var hasEnded: Bool { ended }

    /// Nothing is owed any more: every member knows of the end, holds every event and has said so.
    public var isOver: Bool { ended && sealed && unconfirmedCount == 0 && doAllKnowEnd }

    /// Ends the session here and, as they hear of it, for every member.
    public mutating func end() {
        guard !ended else { return }
        ended = true
        pending.changesMembership = true
        pending.isDigestDue = true
    }

    /// Submits the last event, for which there is always room, and ends the session.
    /// - Throws: what the reducer throws, `SessionSyncError.sessionEnded`; nothing has ended then.
    public mutating func end(with event: Event, at moment: Date) throws -> SessionSyncEnvelope<Event> {
        try checkNotEnded()
        let envelope = try submit(event, at: moment)
        end()
        return envelope
    }

    /// Whether that member has said that it knows.
    package func knowsEnd(_ member: SessionSource) -> Bool {
        sources.slot(of: member).map { sources[$0].hasEnded } ?? false
    }

    private var doAllKnowEnd: Bool { sources.records.dropFirst().allSatisfy { !$0.isOpen || $0.hasEnded } }

    /// A member says that the session has ended.
    mutating func takeEnd(_ slot: Int) {
        if !sources[slot].hasEnded { pending.changesMembership = true }
        sources[slot].hasEnded = true
        guard !ended else { return }
        ended = true
        // Whoever ended it may wait for this.
        pending.controls.insert(sources[slot].source.peerID)
    }

    @usableFromInline
    func checkNotEnded() throws {
        if ended { throw SessionSyncError.sessionEnded }
    }
}
