public import MeshIdentity

extension SessionSyncEngine {
    /// Whether that peer has a say here, and may know what is said: once the group is for good its members have, in
    /// whichever of their lives, and before that everybody.
    package func hears(_ peerID: String) -> Bool {
        !sealed || isMember(peerID)
    }

    func isMember(_ peerID: String) -> Bool {
        sources.records.contains { $0.isOpen && $0.source.peerID == peerID }
    }

    /// Whose events enter the log.
    ///
    /// Members' always. Strangers' on sight while unsealed, because nothing is confirmed then and nothing is lost by
    /// showing them; never those of a source that was closed, of another group, or, once this engine has founded a
    /// group, of anyone but the members that were there from its beginning.
    ///
    /// - Returns: the source's slot; nil when the event is refused.
    @usableFromInline
    mutating func admit(_ metadata: SessionSyncMetadata) throws -> Int? {
        let source = SessionSource(peerID: metadata.sourcePeerID, incarnation: metadata.incarnation)
        guard source != self.source else { return admitOwn(metadata) }
        let known = sources.slot(of: source)
        if let known {
            if sources[known].isClosed { return nil }
            if sources[known].isOpen, isOfGroup(metadata.epoch, since: sources[known].joinedView) {
                return isQuarantined(source) ? nil : known
            }
        }
        guard !sealed, metadata.epoch == 0 || metadata.epoch == source.groupTag else { return nil }
        if groupName == self.source {
            guard let known, sources[known].isOpen, sources[known].floor == .zero else { return nil }
            return known
        }
        // Two incarnations of one peer: which one lives is for the founder to find out.
        if !isReferenceOnly, sources.heldIncarnation(of: source) != nil { return nil }
        if let known { return known }
        setApartLaterLife(metadata)
        return try meet(source)
    }

    @discardableResult
    mutating func meet(_ source: SessionSource) throws -> Int {
        renameShownIncarnation(of: source.peerID)
        return try slot(adding: source)
    }

    /// Whether it was said in this group, since its author joined.
    private func isOfGroup(_ epoch: UInt32, since joined: UInt64) -> Bool {
        let number = UInt64(epoch &- groupTag)
        return number >= joined && number <= stance.number + SessionViewRecord.stepMax
    }

    /// Whether a promise counts that was made in that view: not while the view is not installed here.
    @usableFromInline
    func counts(_ epoch: UInt32) -> Bool {
        UInt64(epoch &- groupTag) <= stance.number
    }

    mutating func setEpoch() {
        epochTag = groupName == nil ? 0 : groupTag &+ UInt32(truncatingIfNeeded: stance.number)
    }

    /// The peer's bare id will mean its new incarnation.
    private mutating func renameShownIncarnation(of peerID: String) {
        guard let earlier = sources.records.last(where: { $0.source.peerID == peerID })?.source,
            let shown = provisional?.vector.removeValue(forKey: peerID)
        else { return }
        provisional?.vector[earlier.description] = shown
    }

    /// An own event beyond what this store has written: from before it was lost, or from a copy of it.
    private mutating func admitOwn(_ metadata: SessionSyncMetadata) -> Int? {
        guard metadata.sequence > sources[0].held, sealed else { return 0 }
        raiseFork(0, metadata.sequence)
        return nil
    }
}

extension SessionSource {
    /// The name of the group that this source founded, in metadata; 0 is no group.
    var groupTag: UInt32 {
        let hash = UInt32(truncatingIfNeeded: StableHash(Array(description.utf8)).low)
        return hash == 0 ? 1 : hash
    }
}
