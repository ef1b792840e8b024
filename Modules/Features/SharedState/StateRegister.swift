import Foundation
import MeshConnection
import MeshIdentity
import MeshRegister

// A delta-state CRDT: peers exchange only the entries that the other one lacks, with a vector that says what the sender has
// seen (Almeida, Shoker, Baquero: Delta State Replicated Data Types, 2018). Terms:
//   author   a peer with one store (`StateVersion`). A provisional author replaces it until the known peers have
//            confirmed that they know no later change of the author.
//   version  a stamp of a hybrid logical clock, and an author. The later stamp wins, then the higher author.
//   entry    the JSON of a field or value, with its version
//   vector   for each author the stamp up to which every change was seen
// A whole value and each field are last-writer-wins registers. Values for an app's own merge are a multi-value register
// (Shapiro et al.: A comprehensive study of CRDTs, 2011). It keeps the values and not their merged result, because the
// result must not outlive the values it was made from.
// Invariant: a replica whose vector covers a version has that entry or a newer one of the same name.

/// The replicated register behind a shared state, as a value without I/O.
struct StateRegister: Hashable, Sendable, Codable {
    enum Kind: String, Hashable, Sendable, Codable {
        case whole, fields, custom
    }

    let kind: Kind
    private(set) var vector = StateVector()
    /// Entries by field, in order of their versions. A whole value has the empty name. Only `custom` has several per name.
    private(set) var slots: [String: [StateEntry]] = [:]
    /// The newest whole value that could be decoded; only in `fields`.
    private(set) var fallback: StateEntry?
    /// True if the fields don't decode together, so every peer shows the fallback.
    var needsFallback = false
    /// Removals up to these stamps are no longer in `slots`. A peer that hasn't seen them must get everything.
    private(set) var forgotten = StateVector()

    init(kind: Kind) { self.kind = kind }

    /// Creates an empty register that has seen a stored one's changes, for an app that has changed its merge.
    init(kind: Kind, vector: StateVector) {
        self.kind = kind
        self.vector = vector
    }

    static let wholeName = ""

    var isEmpty: Bool { slots.isEmpty }
    var newest: StateVersion? { slots.values.compactMap { $0.last?.version }.max() }

    /// The entries of a name, the newest last.
    func entries(_ name: String) -> [StateEntry] { slots[name] ?? [] }

    // MARK: - Changing

    /// - Parameters:
    ///   - version: newer than every version seen.
    ///   - keepsOthers: true if the author hadn't seen the present values.
    mutating func set(_ bytes: Data?, _ name: String, _ version: StateVersion, keepsOthers: Bool = false) {
        var entry = StateEntry(version: version, bytes: bytes)
        if let last = slots[name]?.last, !keepsOthers {
            entry.replaced = last.version.author == version.author ? last.replaced : last.version.stamp
        }
        if kind == .custom, keepsOthers {
            slots[name, default: []].append(entry)
        } else {
            slots[name] = [entry]
        }
        if !entry.isDefault { vector.note(version) }
    }

    /// Moves an author's entries later than `since` to another author, with new stamps. Includes entries of its
    /// provisional authors.
    mutating func rename(_ author: String, to newAuthor: String, since: HybridTimestamp, _ stamp: () -> HybridTimestamp)
    {
        for name in slots.keys.sorted() {
            slots[name] = entries(name).map { entry in
                let isOwn = entry.version.author == author || StateVersion.root(of: entry.version.author) == author
                guard isOwn, entry.version.stamp > since else { return entry }
                var entry = entry
                entry.version = StateVersion(stamp: stamp(), author: newAuthor)
                vector.note(entry.version)
                return entry
            }
            .sorted { $0.version < $1.version }
        }
    }

    /// Notes that all changes of this author are here, so that its stamp covers its provisional authors.
    mutating func confirm(_ author: String) {
        guard let newest = vector.part(of: author).stamps.values.max() else { return }
        vector.note(StateVersion(stamp: newest, author: author))
        trim()
    }

    /// Notes the encoding of a decodable value. All peers show this value if fields don't decode together later.
    mutating func noteWhole(_ bytes: Data) {
        needsFallback = false
        fallback = newest.map { StateEntry(version: $0, bytes: bytes) }
    }

    mutating func adopt(fallback entry: StateEntry) -> Bool {
        guard fallback.map({ entry.wins(over: $0) }) ?? true else { return false }
        fallback = entry
        return true
    }

    /// Forgets removed fields that all peers know of, the oldest first.
    /// - Parameter kept: fields to keep, because without an entry they would have their initial content again.
    mutating func forgetRemoved(knownTo peers: [StateVector], keeping kept: some Collection<String> = [String]()) {
        guard kind == .fields, !peers.isEmpty else { return }
        let removed = slots.filter { $0.value.last?.bytes == nil && !kept.contains($0.key) }
        guard removed.count > StateLimits.removedMax else { return }
        let forgettable = removed.compactMap { name, entries in entries.last.map { (name, $0.version) } }
            .filter { _, version in peers.allSatisfy { $0.covers(version) } }
            .sorted { $0.1 < $1.1 }
        for (name, version) in forgettable.prefix(removed.count - StateLimits.removedMax / 2) {
            slots[name] = nil
            forgotten.note(version)
        }
    }

    // MARK: - Implausible stamps

    var stamps: [HybridTimestamp] {
        let entries = slots.values.joined() + [fallback].compactMap { $0 }
        return entries.flatMap { [$0.version.stamp, $0.replaced] } + vector.stamps.values + forgotten.stamps.values
    }

    /// Replaces implausible stamps by the oldest stamps there are, so that any change wins. Does the same to default entries
    /// that the vector doesn't cover: no peer could acknowledge them. All other entries count as seen.
    /// - Parameter author: a new author, used by no peer.
    mutating func repair(as author: String, where isImplausible: (HybridTimestamp) -> Bool) {
        vector.removeAll(where: isImplausible)
        forgotten.removeAll(where: isImplausible)
        for entry in slots.values.joined() where !entry.isDefault && !isImplausible(entry.version.stamp) {
            vector.note(entry.version)
        }
        vector.join(forgotten)
        let seen = vector
        var stamp = HybridTimestamp.zero
        for name in slots.keys.sorted() {
            let entries = entries(name).map { entry in
                var entry = entry
                if isImplausible(entry.replaced) { entry.replaced = .zero }
                guard isImplausible(entry.version.stamp) || !seen.covers(entry.version) else { return entry }
                stamp = stamp.successor
                entry.version = StateVersion(stamp: stamp, author: author)
                return entry
            }
            slots[name] = Self.newest(entries.sorted { $0.version < $1.version })
        }
        if let last = fallback, isImplausible(last.version.stamp) || isImplausible(last.replaced) {
            stamp = stamp.successor
            fallback = StateEntry(version: StateVersion(stamp: stamp, author: author), bytes: last.bytes)
        }
        if stamp != .zero { vector.note(StateVersion(stamp: stamp, author: author)) }
        trim()
    }

    // MARK: - Bounds

    /// The number of bytes that all entries take in a message.
    var byteCount: Int {
        slots.reduce(0) { sum, slot in slot.value.reduce(sum) { $0 + $1.byteCount(slot.key) } }
    }

    private var namesByteCount: Int { slots.keys.reduce(0) { $0 + $1.utf8.count } }

    /// Checks that peers can still send this register after it has grown by a message. Content that arrived in one message can
    /// be sent in one. A register that was too large before may shrink.
    /// - Throws: `payloadTooLarge`, with the limit `state.bytes` or `state.names`.
    func check(grownFrom before: StateRegister, by message: StateMessage) throws(ConnectionError) {
        let (bytes, names) = (byteCount, namesByteCount)
        guard bytes <= max(StateLimits.bytesMax, before.byteCount, message.byteCount) else {
            throw .payloadTooLarge(bytes: bytes, limit: StateLimits.bytesMax, limitID: "state.bytes")
        }
        guard names <= max(StateLimits.namesBytesMax, before.namesByteCount) else {
            throw .payloadTooLarge(bytes: names, limit: StateLimits.namesBytesMax, limitID: "state.names")
        }
    }

    /// Drops authors beyond the limits. Authors of present entries stay, because the vector must acknowledge these entries.
    private mutating func trim() {
        forgotten.trim(to: StateLimits.forgottenMax, bytes: StateLimits.authorsBytesMax / 4)
        let kept = Set(slots.values.joined().map(\.version.author)).union(forgotten.stamps.keys)
        vector.removeCovered(keeping: kept)
        vector.trim(to: StateLimits.authorsMax, bytes: StateLimits.authorsBytesMax, keeping: kept)
    }

    /// Returns the newest values to be merged that fit within the limits; always at least one. All peers choose the
    /// same values, whatever the order of arrival: a value that doesn't fit together with some newer values doesn't fit
    /// together with more of them either.
    private static func newest(_ entries: [StateEntry]) -> [StateEntry] {
        var bytes = 0
        let kept = entries.reversed().prefix(StateLimits.siblingsMax).prefix { entry in
            defer { bytes += entry.byteCount(wholeName) }
            return bytes == 0 || bytes + entry.byteCount(wholeName) <= StateLimits.bytesMax
        }
        return kept.reversed()
    }

    // MARK: - Exchanging

    /// Indicates whether a replica with this vector lacks anything.
    func hasEntries(missingFrom seen: StateVector) -> Bool {
        guard seen.includes(forgotten) else { return !slots.isEmpty }
        return slots.values.contains { $0.contains { !seen.covers($0.version) } }
    }

    /// Returns the entries that a replica with this vector lacks, in the order of their names.
    func entries(missingFrom seen: StateVector) -> [StateMessage.Item] {
        let lacksRemovals = !seen.includes(forgotten)
        let missing = slots.flatMap { name, entries -> [StateMessage.Item] in
            // Values to be merged are sent together, because the receiver treats a missing one as replaced.
            let isMissing = lacksRemovals || entries.contains { !seen.covers($0.version) }
            return isMissing ? entries.map { StateMessage.Item(name: name, entry: $0) } : []
        }
        return missing.sorted { ($0.name, $0.entry.version) < ($1.name, $1.entry.version) }
    }

    struct Outcome {
        var isChanged = false
        /// True if changes before the items are missing here. Nothing was taken.
        var isIncomplete = false
        /// True if the sender's vector covers an entry that the sender doesn't have.
        var senderLacksSeenEntries = false
        /// True if values to be merged were dropped for lack of space. The sender may hold these and not know the ones kept.
        var hasDropped = false
        /// True if authors were dropped for lack of space. Some of their changes count as unseen.
        var hasForgottenAuthors = false
        var conflicts: [(name: String, kept: StateEntry, lost: StateEntry)] = []
    }

    /// Takes a message's entries. Its sender has seen `has`; the items are all that a replica that has seen `base` lacks, or
    /// the complete register if `base` is nil.
    ///
    /// The sender has seen each item, even if `has` doesn't cover it. Drops default entries of authors that aren't in `has`,
    /// because no peer could acknowledge them.
    mutating func merge(
        _ items: [StateMessage.Item], has: StateVector, base: StateVector?, forgotten: StateVector = StateVector()
    ) -> Outcome {
        let before = self
        var outcome = Outcome()
        let items = items.filter { !$0.entry.isDefault || has.stamps[$0.entry.version.author] != nil }
        // Items build on `base`. If some of it is missing here, `has` can't be joined, and an entry that the vector doesn't
        // cover could neither be announced nor acknowledged.
        guard base.map({ vector.includes($0) }) ?? true else {
            outcome.isIncomplete = true
            return outcome
        }
        self.forgotten.join(forgotten)
        if base == nil {
            let names = Set(items.map(\.name))
            // The sender has seen these entries and no longer has them.
            slots = slots.filter { name, entries in
                names.contains(name) || !entries.allSatisfy { has.covers($0.version) }
            }
        }
        for (name, group) in Dictionary(grouping: items, by: \.name).sorted(by: { $0.key < $1.key }) {
            let entries = group.map(\.entry)
            if kind == .custom {
                merge(siblings: entries, name, has, &outcome)
            } else {
                for entry in entries { merge(entry, name, has, &outcome) }
            }
        }
        vector.join(has)
        vector.join(forgotten)
        for item in items { vector.note(item.entry.version) }
        trim()
        outcome.hasForgottenAuthors = !vector.includes(before.vector)
        outcome.isChanged = self != before
        return outcome
    }

    /// Returns the conflict between an entry here and a change that lost to it at the sender; nil if the change is known here.
    func conflict(_ item: StateMessage.Item) -> (name: String, kept: StateEntry, lost: StateEntry)? {
        guard kind != .custom, !vector.covers(item.entry.version), let mine = slots[item.name]?.last,
            mine.version > item.entry.version, mine.conflicts(with: item.entry)
        else { return nil }
        return (item.name, kept: mine, lost: item.entry)
    }

    private mutating func merge(_ entry: StateEntry, _ name: String, _ has: StateVector, _ outcome: inout Outcome) {
        let isSeen = vector.covers(entry.version)
        guard let mine = slots[name]?.last else {
            // Seen but absent: a removal that every peer knew of and that was forgotten.
            if !isSeen { slots[name] = [entry] }
            return
        }
        if entry.wins(over: mine) {
            if entry.conflicts(with: mine) { outcome.conflicts.append((name, kept: entry, lost: mine)) }
            slots[name] = [entry]
        } else if entry.version != mine.version {
            if !isSeen, mine.conflicts(with: entry) { outcome.conflicts.append((name, kept: mine, lost: entry)) }
            if has.covers(mine.version) { outcome.senderLacksSeenEntries = true }
        }
    }

    private mutating func merge(
        siblings theirs: [StateEntry], _ name: String, _ has: StateVector, _ outcome: inout Outcome
    ) {
        let mine = slots[name] ?? []
        let stay = mine.filter { mine in theirs.contains { $0.version == mine.version } || !has.covers(mine.version) }
        let arrived = Dictionary(theirs.map { ($0.version, $0) }) { $1.wins(over: $0) ? $1 : $0 }.values
            .filter { theirs in !vector.covers(theirs.version) }
        let all = (stay + arrived).sorted { $0.version < $1.version }
        guard let newest = all.last else { return }
        let kept = Self.newest(all)
        slots[name] = kept
        if kept.count < all.count { outcome.hasDropped = true }
        if !arrived.isEmpty {
            for entry in all.dropLast() where entry.bytes != newest.bytes {
                outcome.conflicts.append((name, kept: newest, lost: entry))
            }
        }
    }
}
