import MeshEngine
import MeshIdentity

/// A record of the views of each group, by an observer that sees every member install them. It checks three rules:
///
/// - A number stands for one view. It may stand for two if users on both sides of a partition have continued without
///   each other. From there on the group has branches.
/// - All members count a closed source's events up to the same sequence, and never open the source again.
/// - While a member of a view has frozen its promise, no event beyond that promise is confirmed in that view.
struct ViewLedger {
    private struct View {
        var open: [SessionSource]
        /// The lowest frozen promise and its member.
        var frozen: (stamp: HybridTimestamp, source: SessionSource)?
        /// The latest event that was confirmed in this view.
        var confirmed: (stamp: HybridTimestamp, place: SourceSequence)?
    }

    private struct Branch {
        let parent: Int
        var views: [UInt64: View] = [:]
        var closed: [SessionSource: Closing] = [:]
    }

    private struct Closing {
        let final: UInt64
        /// The number of the first view without the source.
        var number: UInt64
    }

    private var groups: [SessionSource: [Branch]] = [:]
    /// True if users on both sides of a partition have continued without each other.
    var mayBranch = false

    /// Records that a member has installed a view.
    /// - Parameter before: The branch that the member was in before.
    /// - Returns: The view's branch, and the newcomers of a view that no member was in before.
    mutating func install(
        _ number: UInt64, _ membership: SessionMembership, in group: SessionSource, from before: Int?
    ) throws(Violation) -> (branch: Int, newcomers: [SessionSource]?) {
        let open = membership.open.map(\.source)
        var branches = groups[group] ?? [Branch(parent: 0)]
        defer { groups[group] = branches }
        let rivals = branches.indices.filter { branches[$0].views[number] != nil }
        let same = rivals.first { isSame(open, branches[$0].views[number]?.open ?? []) }
        var branch = same ?? before ?? 0
        if same == nil, !rivals.isEmpty {
            let other = branches[rivals[0]].views[number]?.open ?? []
            guard mayBranch else { throw Violation("view \(number) of \(group) has the members \(open), and \(other)") }
            branches.append(
                Branch(
                    parent: branch, views: branches[branch].views.filter { $0.key < number },
                    closed: branches[branch].closed.filter { $0.value.number < number }))
            branch = branches.count - 1
        }
        for entry in membership.closed { try close(entry, in: number, &branches[branch]) }
        for source in open {
            guard let before = branches[branch].closed[source], before.number < number else { continue }
            throw Violation("\(source) is open in view \(number), and was closed in view \(before.number)")
        }
        if same != nil {
            replace(open, in: &branches[branch].views[number])
            return (branch, nil)
        }
        let known = Set(branches[branch].views.values.flatMap(\.open))
        branches[branch].views[number] = View(open: open)
        return (branch, open.filter { !known.contains($0) })
    }

    private func close(_ entry: SourceSequence, in number: UInt64, _ branch: inout Branch) throws(Violation) {
        guard let known = branch.closed[entry.source] else {
            branch.closed[entry.source] = Closing(final: entry.sequence, number: number)
            return
        }
        branch.closed[entry.source]?.number = min(known.number, number)
        guard known.final != entry.sequence else { return }
        throw Violation("\(entry.source) counts up to \(known.final), and in view \(number) up to \(entry.sequence)")
    }

    /// Updates a view's members. Removes the frozen promise if its incarnation isn't a member any more.
    private func replace(_ open: [SessionSource], in view: inout View?) {
        view?.open = open
        if let frozen = view?.frozen, !open.contains(frozen.source) { view?.frozen = nil }
    }

    /// True if the members are the same. In a group of two, the survivor replaces a member that lost its store without
    /// a new view.
    private func isSame(_ one: [SessionSource], _ two: [SessionSource]) -> Bool {
        one == two || one.count == 2 && one.map(\.peerID) == two.map(\.peerID)
    }

    /// Returns the number and members of the newest view of a group's branch.
    func newest(of line: GroupLine) -> (number: UInt64, open: [SessionSource])? {
        branch(line)?.views.max { $0.key < $1.key }.map { ($0.key, $0.value.open) }
    }

    /// Returns the branch from which this one split off.
    func parent(of line: GroupLine) -> GroupLine? {
        guard line.branch > 0, let branch = branch(line) else { return nil }
        return GroupLine(group: line.group, branch: branch.parent)
    }

    /// True if any view of any group has closed the source.
    func hasClosed(_ source: SessionSource) -> Bool {
        groups.values.contains { $0.contains { $0.closed[source] != nil } }
    }

    /// True if an event doesn't count under any of its names: beyond the end of a closed source, or from a source that
    /// was never open.
    func haveCut(_ names: [SourceSequence], in line: GroupLine) -> Bool {
        guard let branch = branch(line) else { return false }
        // An author reissues the events that it wrote before it joined. Its highest name counts.
        let latest = names.filter { name in
            !names.contains { $0.source == name.source && $0.sequence > name.sequence }
        }
        return latest.allSatisfy { name in
            if let closing = branch.closed[name.source] { return name.sequence > closing.final }
            return !branch.views.values.contains { $0.open.contains(name.source) }
        }
    }

    private func branch(_ line: GroupLine) -> Branch? {
        guard let branches = groups[line.group], line.branch < branches.count else { return nil }
        return branches[line.branch]
    }

    // MARK: - Promises between two views

    /// Records a member's frozen promise: the stamp beyond which it promises nothing until the next view.
    mutating func freeze(
        _ stamp: HybridTimestamp, by source: SessionSource, in number: UInt64, of line: GroupLine
    ) throws(Violation) {
        guard let view = branch(line)?.views[number] else { return }
        if let frozen = view.frozen, frozen.stamp <= stamp { return }
        groups[line.group]?[line.branch].views[number]?.frozen = (stamp, source)
        guard let confirmed = view.confirmed, confirmed.stamp > stamp else { return }
        throw Violation(
            "\(confirmed.place.text) is confirmed in view \(number), and \(source) has promised nothing up to there")
    }

    mutating func confirm(
        _ place: SourceSequence, _ stamp: HybridTimestamp, in number: UInt64, of line: GroupLine, by peer: String
    ) throws(Violation) {
        guard let view = branch(line)?.views[number] else { return }
        if let frozen = view.frozen, frozen.stamp < stamp {
            throw Violation(
                "\(peer) confirms \(place.text) in view \(number), where \(frozen.source) promises nothing up to there")
        }
        if let confirmed = view.confirmed, confirmed.stamp >= stamp { return }
        groups[line.group]?[line.branch].views[number]?.confirmed = (stamp, place)
    }
}
