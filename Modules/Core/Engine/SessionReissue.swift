/// A stretch of consecutive events that a source has issued again (rule 23 of Docs/Internals/Convergence.md). The first
/// event's earlier name is `origin`, its new one is `name`. Each later event has the next sequence in both.
package struct SessionReissue: Hashable, Sendable, Codable {
    /// The place of the first event in the sequence of the source that issued it again.
    package var name: SourceSequence
    /// The place of the first event in the sequence that it came from.
    package var origin: SourceSequence
    /// Number of events.
    package var count: UInt64

    package init(name: SourceSequence, origin: SourceSequence, count: UInt64 = 1) {
        self.name = name
        self.origin = origin
        self.count = count
    }

    /// The other name of the event, if the stretch has it.
    fileprivate func counterpart(of place: SourceSequence) -> SourceSequence? {
        translate(place, from: name, to: origin) ?? translate(place, from: origin, to: name)
    }

    private func translate(
        _ place: SourceSequence, from first: SourceSequence, to other: SourceSequence
    ) -> SourceSequence? {
        guard place.source == first.source, place.sequence >= first.sequence, place.sequence - first.sequence < count
        else { return nil }
        return SourceSequence(source: other.source, sequence: other.sequence + place.sequence - first.sequence)
    }

    /// True if the stretch names events of the source beyond that sequence.
    fileprivate func mentions(_ source: SessionSource, beyond known: UInt64) -> Bool {
        [name, origin].contains { $0.source == source && $0.sequence + count - 1 > known }
    }
}

/// The names under which events of this session were issued again: by this source, by members that report it in their
/// controls, and by any source that a copy lists. Events in the log are also recognized by ID, folded ones only by
/// name.
///
/// At most `countMax` stretches. The oldest are forgotten, and their events recognized only by ID.
struct ReissueTable: Sendable {
    static let countMax = 256
    /// Maximum number of names of one event. Events have a few, but a lying peer's stretches could form long chains.
    private static let namesMax = 16

    /// The stretches, oldest first.
    private(set) var stretches: [SessionReissue] = []

    init(_ stretches: [SessionReissue] = []) { self.stretches = Array(stretches.suffix(Self.countMax)) }

    mutating func add(_ stretch: SessionReissue) {
        let last = stretches.count - 1
        if last >= 0, stretch.continues(stretches[last]) {
            stretches[last].count += stretch.count
        } else if let known = stretches.firstIndex(where: { $0.name == stretch.name && $0.origin == stretch.origin }) {
            stretches[known].count = max(stretches[known].count, stretch.count)
        } else {
            if stretches.count == Self.countMax { stretches.removeFirst() }
            stretches.append(stretch)
        }
    }

    /// The other names of an event. O(stretches) for each name.
    func otherNames(of place: SourceSequence) -> ArraySlice<SourceSequence> {
        var names = [place]
        var next = 0
        while next < names.count {
            for stretch in stretches where names.count < Self.namesMax {
                guard let other = stretch.counterpart(of: names[next]), !names.contains(other) else { continue }
                names.append(other)
            }
            next += 1
        }
        return names.dropFirst()
    }

    /// A table without the source's names beyond `known`: its store is an older copy, so they may mean other events.
    func without(_ source: SessionSource, beyond known: UInt64) -> ReissueTable {
        ReissueTable(stretches.filter { !$0.mentions(source, beyond: known) })
    }
}

extension SessionReissue {
    fileprivate func continues(_ other: SessionReissue) -> Bool {
        name.source == other.name.source && name.sequence == other.name.sequence + other.count
            && origin.source == other.origin.source && origin.sequence == other.origin.sequence + other.count
    }
}

extension SessionSyncEngine {
    /// True if the event was issued again, by this source or another, and is in the order under that name.
    func isIncludedOtherwise(_ place: SourceSequence) -> Bool {
        reissues.otherNames(of: place).contains { name in
            guard let slot = sources.slot(of: name.source) else { return false }
            return name.sequence >= sources[slot].first && name.sequence <= sources[slot].held
        }
    }

    /// The events that this source has issued again and that aren't confirmed yet: members may not know their new
    /// names.
    var ownReissues: [SessionReissue]? {
        guard !reissues.stretches.isEmpty,
            let oldest = log.entries.dropFirst(settledCount).first(where: { $0.slot == 0 })?.sequence
        else { return nil }
        let own = reissues.stretches.filter { $0.name.source == source && $0.name.sequence + $0.count > oldest }
        return own.isEmpty ? nil : Array(own.suffix(SessionReissue.perControlMax))
    }
}

extension SessionReissue {
    /// Maximum number of stretches in one control; a copy has all of them.
    static let perControlMax = 64
}
