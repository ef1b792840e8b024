/// A stretch of events that a source has issued again: the first stands in the order as `name` and was known as `origin`, and so
/// on, in step.
package struct SessionReissue: Hashable, Sendable, Codable {
    /// The place of the first in the sequence of the source that issued them again.
    package var name: SourceSequence
    /// The place of the first in the sequence from which they came.
    package var origin: SourceSequence
    /// Number of events.
    package var count: UInt64

    package init(name: SourceSequence, origin: SourceSequence, count: UInt64 = 1) {
        self.name = name
        self.origin = origin
        self.count = count
    }

    /// The same event under its other name.
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

    /// Whether it is about what that source has written after that.
    fileprivate func mentions(_ source: SessionSource, beyond known: UInt64) -> Bool {
        [name, origin].contains { $0.source == source && $0.sequence + count - 1 > known }
    }
}

/// The names under which events of this session were issued again: by this source, by members who say so in their controls, and
/// by those that a copy names. While an event is in the log, its id tells as much; a folded event has no id.
///
/// At most `countMax` stretches. The oldest are forgotten, and of their events only the ids in the order are known.
struct ReissueTable: Sendable {
    static let countMax = 256
    /// Number of names of one event. An event has a few; a liar's stretches lead from one to the next for ever.
    private static let namesMax = 16

    /// Oldest first.
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

    /// The other names of an event. O(stretches) for each.
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

    /// Without what may mean another event since the store of that source went back.
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
    /// The event was issued again, by this source or another, and is in the order so.
    func isIncludedOtherwise(_ place: SourceSequence) -> Bool {
        reissues.otherNames(of: place).contains { name in
            guard let slot = sources.slot(of: name.source) else { return false }
            return name.sequence >= sources[slot].first && name.sequence <= sources[slot].held
        }
    }

    /// What this source has issued again and not confirmed yet: until then a member may not have heard of it.
    var ownReissues: [SessionReissue]? {
        guard !reissues.stretches.isEmpty,
            let oldest = log.entries.dropFirst(settledCount).first(where: { $0.slot == 0 })?.sequence
        else { return nil }
        let own = reissues.stretches.filter { $0.name.source == source && $0.name.sequence + $0.count > oldest }
        return own.isEmpty ? nil : Array(own.suffix(SessionReissue.toldMax))
    }
}

extension SessionReissue {
    /// In one control; a copy tells all of them.
    static let toldMax = 64
}
