import MeshBase
public import MeshFoundation
public import MeshIdentity

/// How a group of two comes to be, and how a member that lost its store comes back.
///
/// Unsealed engines may adopt somebody's copy, sealed ones never do. Of two unsealed engines only the lower peer id
/// founds; the group is named after its source. What seals is adopting a copy, or a message of the group from a member
/// that lists this one.
extension SessionSyncEngine {
    /// Paired beforehand: the members are known, nobody founds.
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

    /// A message from outside the group, or from a member that does not know yet that it is one.
    ///
    /// - Returns: whether a copy was adopted.
    mutating func takeFromStranger(_ message: EngineMessage<State, Event>, _ slot: Int) throws -> Bool {
        // It knew the group before: its store went back to before it joined.
        if sources[slot].isOpen, sources[slot].lastSaid > .zero, message.saidAt > sources[slot].lastSaid,
            !isElsewhere(message.control)
        {
            raiseFork(slot, sources[slot].held)
            return false
        }
        if !sealed {
            let founds = foundsAgainst(message.source)
            if let checkpoint = message.checkpoint, message.control.members.contains(source) {
                guard adopts(from: message.control.group, of: message.source.peerID), !isAboutToRival(message) else {
                    return false
                }
                guard !founds || sources[slot].isOpen || isProvenAlive(message, slot) else { return false }
                return try adopt(checkpoint, message, slot)
            }
            let isElsewhere = message.control.group != nil && message.control.group != groupName
            if !founds || isElsewhere {
                // This one joins: it asks to be taken in by what its controls say, and draws the token that proves
                // that who takes it in lives.
                if founds, !sources[slot].isOpen { _ = isProvenAlive(message, slot) }
                return false
            }
        }
        guard try takeIn(message, slot) else { return false }
        if message.control.isDigest, isAskedForCopy(slot) { pending.copies.insert(message.source.peerID) }
        return false
    }

    /// Whether it is in a group that does not have this peer: it has been taken in before it knew who follows it here.
    private func isElsewhere(_ control: SessionControl) -> Bool {
        control.group != nil && control.group != groupName && !control.members.contains { $0.peerID == localPeerID }
    }

    /// Who founds when both are unsealed.
    private func foundsAgainst(_ other: SessionSource) -> Bool {
        // A copy of a peer's state lacks names of what it includes.
        if isJoining || taken != nil { return false }
        if groupName == source { return true }
        return groupName == nil && (source.peerID < other.peerID)
    }

    /// Makes the source a member: the first of a founded group, or the successor of a member of the same peer.
    ///
    /// - Returns: false when it is not one, or not yet.
    private mutating func takeIn(_ message: EngineMessage<State, Event>, _ slot: Int) throws -> Bool {
        if sources[slot].isOpen { return true }
        let peerID = message.source.peerID
        if sealed, !isReplacedByPartner(peerID) {
            // One of another group does not adopt this one's copy, and leaves that group under another name only.
            guard message.control.group == nil || isFoundedAlone(message) else {
                wishes.newcomers[message.source] = nil
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
            wish(toAdmit: slot)
            // Of a group of two the survivor decides alone that a store is lost.
            if openSlots.count == 2, let partner = sources.openSlot(ofPeer: peerID) {
                wishes.overridden[sources[partner].source] = clock.latest
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

    /// Whether all with whom it thinks it has founded a group are members here, or want to be, and so have not joined that.
    private func isFoundedAlone(_ message: EngineMessage<State, Event>) -> Bool {
        message.control.group == message.source
            && message.control.members.allSatisfy { member in
                member == message.source || wishes.newcomers[member] != nil
                    || sources.slot(of: member).map { sources[$0].isOpen } ?? false
            }
    }

    /// An earlier life of which this one shows events, as long as the founder has not met anybody else.
    private func lostPartner(of source: SessionSource) -> Int? {
        sources.openSources.count < 2 ? sources.heldIncarnation(of: source) : nil
    }

    /// Of a group of two the survivor takes in the partner's next life without another view, unless both are about to decide
    /// on one.
    private func isReplacedByPartner(_ peerID: String) -> Bool {
        sources.openSlot(ofPeer: peerID) != nil && openSlots.count == 2 && stance.change == nil
    }

    /// In a larger group whoever proposed a newcomer gives it its copy, and the others when that stays out.
    private mutating func isAskedForCopy(_ slot: Int) -> Bool {
        sources[slot].copyAsks += 1
        return openSlots.count <= 2 || sources[slot].copyAsks > 3
    }

    private mutating func found() {
        guard groupName == nil else { return }
        setGroup(source)
        sources.open(0)
    }

    /// A token drawn here for that source came back, so it lived after this engine last admitted a source of its peer.
    private mutating func isProvenAlive(_ message: EngineMessage<State, Event>, _ slot: Int) -> Bool {
        guard let token = sources[slot].token else {
            sources[slot].token = UInt32(truncatingIfNeeded: random.next())
            return false
        }
        return message.control.echoes.contains { $0.source == source && $0.value == token }
    }

    /// The member lost its store; the survivor says from where on its successor counts.
    ///
    /// The successor has a join floor, the stamp of the replacement, even when this engine is unsealed: the dead one may
    /// have sealed and confirmed.
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

    /// Admitting one source forgets the tokens of the others.
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

/// The end of a session: a fact that every member learns by the controls of those who know it. From then on nobody submits,
/// so the order is complete once everybody holds what had been accepted before, and nothing of that is lost.
extension SessionSyncEngine {
    /// `submitLocal` throws `SessionSyncError.sessionEnded` from now on, and no peer's state is shown any more. Events that
    /// others had accepted are still taken.
    public var hasEnded: Bool { ended }

    /// Whether the session has ended and owes nothing: every member knows of the end, holds every event and has said
    /// so.
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
