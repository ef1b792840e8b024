import Foundation
import MeshConnection
import MeshIdentity
import MeshRegister

/// The value as a replicated register: a pure value, which says what to send and takes what comes.
///
/// Source: Almeida, Shoker, Baquero, *Delta State Replicated Data Types* (2018): deltas with a vector of what has been
/// seen. A whole value and each field are last-writer-wins registers; values for a merge of the app's own are a
/// multi-value register (Shapiro et al., *A comprehensive study of CRDTs*, 2011), since a value that was computed by
/// merging must not outlive what it was computed from.
///
/// Rule on which everything rests: who has seen a version has its entry, or a newer one, in the same place.
struct StateRegister: Hashable, Sendable, Codable {
    enum Kind: String, Hashable, Sendable, Codable {
        case whole, fields, custom
    }

    let kind: Kind
    private(set) var vector = StateVector()
    /// By field; a whole value is under the empty name. In order of their versions, more than one in `custom` only.
    private(set) var slots: [String: [StateEntry]] = [:]
    /// In `fields`: the newest whole value that could be read.
    private(set) var fallback: StateEntry?
    /// The fields together cannot be read, and the fallback is what everybody shows.
    var needsFallback = false
    /// Removals up to there are not in `slots` any more. Who has not seen them must be told everything.
    private(set) var forgotten = StateVector()

    init(kind: Kind) { self.kind = kind }

    /// As it was stored, with another kind when the app has chosen another merge since.
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
    ///   - version: later than everything that was seen.
    ///   - keepsOthers: the author had not seen the values that are here.
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

    /// Makes entries of an author, and of its provisional ones, that are later than a stamp those of another author.
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

    /// All changes of this author are here: it covers its provisional ones from now on.
    mutating func confirm(_ author: String) {
        guard let newest = vector.part(of: author).stamps.values.max() else { return }
        vector.note(StateVersion(stamp: newest, author: author))
        trim()
    }

    /// Notes what can be read as a whole, which everybody falls back on when the fields together cannot.
    mutating func noteWhole(_ bytes: Data) {
        needsFallback = false
        fallback = newest.map { StateEntry(version: $0, bytes: bytes) }
    }

    mutating func take(fallback entry: StateEntry) -> Bool {
        guard fallback.map({ entry.wins(over: $0) }) ?? true else { return false }
        fallback = entry
        return true
    }

    /// Forgets fields that were removed, the oldest first, of which everybody knows.
    /// - Parameter kept: fields that would be something else if nothing were known of them.
    mutating func forgetRemoved(knownTo everybody: [StateVector], keeping kept: some Collection<String> = [String]()) {
        guard kind == .fields, !everybody.isEmpty else { return }
        let removed = slots.filter { $0.value.last?.bytes == nil && !kept.contains($0.key) }
        guard removed.count > StateLimits.removedMax else { return }
        let forgettable = removed.compactMap { name, entries in entries.last.map { (name, $0.version) } }
            .filter { _, version in everybody.allSatisfy { $0.covers(version) } }
            .sorted { $0.1 < $1.1 }
        for (name, version) in forgettable.prefix(removed.count - StateLimits.removedMax / 2) {
            slots[name] = nil
            forgotten.note(version)
        }
    }

    // MARK: - Stamps that nobody can have drawn

    var stamps: [HybridTimestamp] {
        let entries = slots.values.joined() + [fallback].compactMap { $0 }
        return entries.flatMap { [$0.version.stamp, $0.replaced] } + vector.stamps.values + forgotten.stamps.values
    }

    /// What has such a stamp stays, under the oldest ones there are: any change replaces it. So does what nobody could say
    /// that he has: it was nobody's change, and its author has made none. All else that is here has been seen.
    /// - Parameter author: nobody else's, and new.
    mutating func mend(by author: String, where isFalse: (HybridTimestamp) -> Bool) {
        vector.removeAll(where: isFalse)
        forgotten.removeAll(where: isFalse)
        for entry in slots.values.joined() where !entry.isDefault && !isFalse(entry.version.stamp) {
            vector.note(entry.version)
        }
        vector.join(forgotten)
        let seen = vector
        var stamp = HybridTimestamp.zero
        for name in slots.keys.sorted() {
            let entries = entries(name).map { entry in
                var entry = entry
                if isFalse(entry.replaced) { entry.replaced = .zero }
                guard isFalse(entry.version.stamp) || !seen.covers(entry.version) else { return entry }
                stamp = stamp.successor
                entry.version = StateVersion(stamp: stamp, author: author)
                return entry
            }
            slots[name] = Self.newest(entries.sorted { $0.version < $1.version })
        }
        if let last = fallback, isFalse(last.version.stamp) || isFalse(last.replaced) {
            stamp = stamp.successor
            fallback = StateEntry(version: StateVersion(stamp: stamp, author: author), bytes: last.bytes)
        }
        if stamp != .zero { vector.note(StateVersion(stamp: stamp, author: author)) }
        trim()
    }

    // MARK: - Bounds

    /// What its values take in a message.
    var byteCount: Int {
        slots.reduce(0) { sum, slot in slot.value.reduce(sum) { $0 + $1.byteCount(slot.key) } }
    }

    private var namesByteCount: Int { slots.keys.reduce(0) { $0 + $1.utf8.count } }

    /// Whether a register that has grown to this one by a message can still be sent by whoever has it. What came at once can
    /// be sent at once; what was too large before may become less.
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

    /// Whoever has what is here must be able to say so: its authors stay, however many there are.
    private mutating func trim() {
        forgotten.trim(to: StateLimits.forgottenMax, bytes: StateLimits.authorsBytesMax / 4)
        let kept = Set(slots.values.joined().map(\.version.author)).union(forgotten.stamps.keys)
        vector.removeCovered(keeping: kept)
        vector.trim(to: StateLimits.authorsMax, bytes: StateLimits.authorsBytesMax, keeping: kept)
    }

    /// Of values that wait to be merged those that there is room for, the newest always among them. All peers choose the
    /// same, whatever reaches them first: what has no room among some has none among more.
    private static func newest(_ entries: [StateEntry]) -> [StateEntry] {
        var bytes = 0
        let kept = entries.reversed().prefix(StateLimits.siblingsMax).prefix { entry in
            defer { bytes += entry.byteCount(wholeName) }
            return bytes == 0 || bytes + entry.byteCount(wholeName) <= StateLimits.bytesMax
        }
        return kept.reversed()
    }

    // MARK: - Exchanging

    /// Whether somebody lacks anything who has seen that much.
    func isLacked(by seen: StateVector) -> Bool {
        guard seen.includes(forgotten) else { return !slots.isEmpty }
        return slots.values.contains { $0.contains { !seen.covers($0.version) } }
    }

    /// What somebody lacks who has seen that much, in the order of the names.
    func lacked(by seen: StateVector) -> [StateMessage.Item] {
        let lacksRemovals = !seen.includes(forgotten)
        let lacked = slots.flatMap { name, entries -> [StateMessage.Item] in
            // Of values to be merged all must travel: what is not among them has been replaced.
            let isLacked = lacksRemovals || entries.contains { !seen.covers($0.version) }
            return isLacked ? entries.map { StateMessage.Item(name: name, entry: $0) } : []
        }
        return lacked.sorted { ($0.name, $0.entry.version) < ($1.name, $1.entry.version) }
    }

    struct Outcome {
        var isChanged = false
        /// Something before it is missing here; nothing was taken.
        var isIncomplete = false
        /// The sender says that it has seen what it does not have.
        var isSenderDamaged = false
        /// There were too many values to be merged. The sender may have those that went, and no others to be told of.
        var hasDropped = false
        /// There were too many authors: what some of them did counts as unseen.
        var hasForgottenAuthors = false
        var conflicts: [(name: String, kept: StateEntry, lost: StateEntry)] = []
    }

    /// Takes what somebody sends who has seen `has`; the items are what was lacked by whoever has seen `base`, or all.
    ///
    /// Whoever sends something has seen it, though his `has` may not say so. What nobody's change was, and belongs to none
    /// that he has seen, is left out: nobody could ever say that he has it.
    mutating func merge(
        _ items: [StateMessage.Item], has: StateVector, base: StateVector?, forgotten: StateVector = StateVector()
    ) -> Outcome {
        let before = self
        var outcome = Outcome()
        let items = items.filter { !$0.entry.isDefault || has.stamps[$0.entry.version.author] != nil }
        // Nothing is held that the vector does not cover: nobody else might know of it, and nobody could say that he
        // does.
        guard base.map({ vector.includes($0) }) ?? true else {
            outcome.isIncomplete = true
            return outcome
        }
        self.forgotten.join(forgotten)
        if base == nil {
            let names = Set(items.map(\.name))
            // Seen by the sender, and no longer there.
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

    /// The conflict between an entry here and a change that lost against it at the sender; nil if it is known here.
    func conflict(_ item: StateMessage.Item) -> (name: String, kept: StateEntry, lost: StateEntry)? {
        guard kind != .custom, !vector.covers(item.entry.version), let mine = slots[item.name]?.last,
            mine.version > item.entry.version, mine.conflicts(with: item.entry)
        else { return nil }
        return (item.name, kept: mine, lost: item.entry)
    }

    private mutating func merge(_ entry: StateEntry, _ name: String, _ has: StateVector, _ outcome: inout Outcome) {
        let isSeen = vector.covers(entry.version)
        guard let mine = slots[name]?.last else {
            // Seen and not here: a field that was removed, of which everybody knew.
            if !isSeen { slots[name] = [entry] }
            return
        }
        if entry.wins(over: mine) {
            if entry.conflicts(with: mine) { outcome.conflicts.append((name, kept: entry, lost: mine)) }
            slots[name] = [entry]
        } else if entry.version != mine.version {
            if !isSeen, mine.conflicts(with: entry) { outcome.conflicts.append((name, kept: mine, lost: entry)) }
            if has.covers(mine.version) { outcome.isSenderDamaged = true }
        }
    }

    private mutating func merge(
        siblings theirs: [StateEntry], _ name: String, _ has: StateVector, _ outcome: inout Outcome
    ) {
        let mine = slots[name] ?? []
        let stay = mine.filter { mine in theirs.contains { $0.version == mine.version } || !has.covers(mine.version) }
        let come = Dictionary(theirs.map { ($0.version, $0) }) { $1.wins(over: $0) ? $1 : $0 }.values
            .filter { theirs in !vector.covers(theirs.version) }
        let all = (stay + come).sorted { $0.version < $1.version }
        guard let newest = all.last else { return }
        let kept = Self.newest(all)
        slots[name] = kept
        if kept.count < all.count { outcome.hasDropped = true }
        if !come.isEmpty {
            for entry in all.dropLast() where entry.bytes != newest.bytes {
                outcome.conflicts.append((name, kept: newest, lost: entry))
            }
        }
    }
}
