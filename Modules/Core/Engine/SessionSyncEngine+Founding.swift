import MeshBase
public import MeshFoundation
public import MeshIdentity

/// Founding of a group of two, and the return of a member that lost its store (rules 6 and 8 of
/// Docs/Internals/Convergence.md).
///
/// Unsealed engines may adopt a copy, sealed ones never do. Of two unsealed engines only the lower peer ID founds, and
/// the group is named after its source. An engine is sealed when it adopts a copy, or when a member that lists it sends
/// a group message.
extension SessionSyncEngine {
    /// Seals a group whose members were paired beforehand, so no engine founds it.
    mutating func pair(_ members: [SessionSource]) {
        let all = Set(members + [source]).sorted()
        let name = all.map(\.description).joined(separator: ",")
        setGroup(
            SessionSource(peerID: "paired", incarnation: UInt32(truncatingIfNeeded: StableHash(Array(name.utf8)).low)))
        for member in all {
            guard let slot = try? sources.slot(adding: member) else { continue }
            sources.open(slot)
        }
        seal()
    }

    /// Handles a message from outside the group, or from a member that doesn't know yet that it is one.
    ///
    /// - Returns: true if a copy was adopted.
    mutating func handleNonmemberMessage(_ message: EngineMessage<State, Event>, _ slot: Int) throws -> Bool {
        // The sender was in the group before. Its store was restored to a moment before it joined.
        if sources[slot].isOpen, sources[slot].lastControlStamp > .zero, message.stamp > sources[slot].lastControlStamp,
            !isInOtherGroup(message.control)
        {
            raiseFork(slot, sources[slot].held)
            return false
        }
        if !sealed {
            let founds = isFounder(against: message.source)
            if let checkpoint = message.checkpoint, message.control.members.contains(source) {
                guard adopts(from: message.control.group, of: message.source.peerID), !isFoundingRivalGroup(message)
                else {
                    return false
                }
                guard !founds || sources[slot].isOpen || isProvenAlive(message, slot) else { return false }
                return try adopt(checkpoint, message, slot)
            }
            let isOtherGroup = message.control.group != nil && message.control.group != groupName
            if !founds || isOtherGroup {
                // This engine joins: its controls ask for admission. The token lets the admitting engine prove that it
                // lives.
                if founds, !sources[slot].isOpen { _ = isProvenAlive(message, slot) }
                return false
            }
        }
        guard try admitSender(of: message, at: slot) else { return false }
        if message.control.isDigest, isAskedForCopy(slot) { pending.copies.insert(message.source.peerID) }
        return false
    }

    /// True if the sender is in another group, without this peer. It was admitted there, so its store needn't be an
    /// older copy.
    private func isInOtherGroup(_ control: SessionControl) -> Bool {
        control.group != nil && control.group != groupName && !control.members.contains { $0.peerID == localPeerID }
    }

    /// True if this engine founds the group when both are unsealed.
    private func isFounder(against other: SessionSource) -> Bool {
        // A base taken from a peer's snapshot lacks the names of its events, so it can't become a copy.
        if isJoining || snapshotBase != nil { return false }
        if groupName == source { return true }
        return groupName == nil && (source.peerID < other.peerID)
    }

    /// Makes the sender a member: the partner in a newly founded group, or the successor of a member of the same peer.
    ///
    /// - Returns: false if it can't be one, or not yet.
    private mutating func admitSender(of message: EngineMessage<State, Event>, at slot: Int) throws -> Bool {
        if sources[slot].isOpen { return true }
        let peerID = message.source.peerID
        if sealed, !isReplacedByPartner(peerID) {
            // A peer in another group adopts no copy: it must first leave that group under another name.
            guard message.control.group == nil || isFoundedAlone(message) else {
                membershipIntent.newcomers[message.source] = nil
                return false
            }
            guard openSlots.count < SessionMembership.openMax || sources.openSlot(ofPeer: peerID) != nil else {
                pending.raise(.notAdmitted(message.source))
                return false
            }
            guard isProvenAlive(message, slot) else {
                pending.controls.insert(peerID)
                return false
            }
            addNewcomer(at: slot)
            // In a group of two the survivor alone decides that a store is lost.
            if openSlots.count == 2, let partner = sources.openSlot(ofPeer: peerID) {
                membershipIntent.removedByUser[sources[partner].source] = clock.latest
            }
            return false
        }
        if let partner = sources.openSlot(ofPeer: peerID) ?? lostPartner(of: message.source) {
            guard isProvenAlive(message, slot) else {
                pending.controls.insert(peerID)
                return false
            }
            if groupName == nil { found() }
            replace(partner, by: slot)
            return true
        }
        guard !sealed, sources.openSources.count < 2 else {
            pending.raise(.notAdmitted(message.source))
            return false
        }
        found()
        sources.open(slot)
        forgetGapsOfOthers()
        forgetTokens()
        return true
    }

    /// True if the sender founded its group and no peer joined it: those it lists are members or newcomers here.
    private func isFoundedAlone(_ message: EngineMessage<State, Event>) -> Bool {
        message.control.group == message.source
            && message.control.members.allSatisfy { member in
                member == message.source || membershipIntent.newcomers[member] != nil
                    || sources.slot(of: member).map { sources[$0].isOpen } ?? false
            }
    }

    /// The slot of an earlier incarnation whose events are held; nil once the group has a second member.
    private func lostPartner(of source: SessionSource) -> Int? {
        sources.openSources.count < 2 ? sources.heldIncarnation(of: source) : nil
    }

    /// True if this group of two can replace its partner by that peer's next incarnation without a new view.
    private func isReplacedByPartner(_ peerID: String) -> Bool {
        sources.openSlot(ofPeer: peerID) != nil && openSlots.count == 2 && stance.change == nil
    }

    /// Counts a newcomer's requests for a copy, and returns true if this engine should answer. In a group of more than
    /// two, the proposer of the view sends the copy, and other members only from the newcomer's fourth request on.
    private mutating func isAskedForCopy(_ slot: Int) -> Bool {
        sources[slot].copyAsks += 1
        return openSlots.count <= 2 || sources[slot].copyAsks > 3
    }

    private mutating func found() {
        guard groupName == nil else { return }
        setGroup(source)
        sources.open(0)
    }

    /// True if the source returned the token generated here, so it lived after this engine last admitted a source.
    /// Generates the token if there is none.
    private mutating func isProvenAlive(_ message: EngineMessage<State, Event>, _ slot: Int) -> Bool {
        guard let token = sources[slot].token else {
            sources[slot].token = UInt32(truncatingIfNeeded: random.next())
            return false
        }
        return message.control.echoes.contains { $0.source == source && $0.value == token }
    }

    /// Replaces a member that lost its store, and records the last of its events that counts.
    ///
    /// The successor gets a join floor, the stamp of the replacement, even if this engine is unsealed: the lost
    /// incarnation may have been sealed and have confirmed events.
    private mutating func replace(_ old: Int, by new: Int) {
        let final = sources[old].held
        let entry = author(
            .replacement(SessionReplacement(old: sources[old].source, new: sources[new].source, final: final)),
            causalTimestamp: Date(timeIntervalSince1970: Double(wallMilliseconds) / 1000))
        gaps[old] = nil
        sources.close(old, after: final)
        sources.open(new, above: entry.stamp)
        forgetTokens()
        countForkedMembers()
        pending.changesMembership = true
        advance()
    }

    /// Forgets all tokens, because one source has been admitted.
    mutating func forgetTokens() {
        for slot in sources.indices { sources[slot].token = nil }
    }

    mutating func setGroup(_ group: SessionSource?) {
        groupName = group
        groupTag = group?.groupTag ?? 0
        setEpoch()
        pending.changesMembership = true
    }
}

/// The end of a session (rule 16 of Docs/Internals/Convergence.md). Members learn of it from controls and submit no
/// more events. So the order is complete once every member holds all events that had been accepted before.
extension SessionSyncEngine {
    /// True once the session has ended. `submitLocal` then throws `SessionSyncError.sessionEnded`, and no peer's state
    /// is shown. Events that others had accepted are still taken.
    public var hasEnded: Bool { ended }

    /// True if the session has ended and nothing is left to send: every member knows of the end and holds every event.
    public var isOver: Bool { ended && sealed && unconfirmedCount == 0 && allMembersKnowEnd }

    /// Ends the session here, and for every member that hears of it.
    public mutating func end() {
        guard !ended else { return }
        ended = true
        pending.changesMembership = true
        pending.isDigestDue = true
    }

    /// Submits the last event, without regard to limits, and ends the session.
    /// - Throws: errors of the reducer, and `SessionSyncError.sessionEnded`. The session hasn't ended then.
    public mutating func end(with event: Event, at moment: Date) throws -> SessionSyncEnvelope<Event> {
        try checkNotEnded()
        let envelope = try submit(event, at: moment)
        end()
        return envelope
    }

    /// True if that member has reported that it knows of the end.
    package func knowsEnd(_ member: SessionSource) -> Bool {
        sources.slot(of: member).map { sources[$0].hasEnded } ?? false
    }

    private var allMembersKnowEnd: Bool { sources.records.dropFirst().allSatisfy { !$0.isOpen || $0.hasEnded } }

    /// Handles a member's report that the session has ended.
    mutating func handleEnd(from slot: Int) {
        if !sources[slot].hasEnded { pending.changesMembership = true }
        sources[slot].hasEnded = true
        guard !ended else { return }
        ended = true
        // The member that ended the session may be waiting for this control.
        pending.controls.insert(sources[slot].source.peerID)
    }

    @usableFromInline
    func checkNotEnded() throws {
        if ended { throw SessionSyncError.sessionEnded }
    }
}
