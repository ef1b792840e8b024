import MeshEngine
import MeshIdentity

/// Which views groups have had, by an onlooker who sees every member install them.
///
/// - A number stands for one view. Only where users on two sides have gone on without each other it may stand for two, and
///   the group has branches from there on.
/// - A source that was closed counts up to the same sequence for everybody, and is never open again.
/// - Nothing is confirmed in a view beyond what one of its members has said it promises until the next.
struct ViewLedger {
    private struct View {
        var open: [SessionSource]
        /// The lowest, and whose it is.
        var frozen: (stamp: HybridTimestamp, source: SessionSource)?
        var confirmed: (stamp: HybridTimestamp, place: SourceSequence)?
    }

    private struct Branch {
        let parent: Int
        var views: [UInt64: View] = [:]
        var closed: [SessionSource: Closing] = [:]
    }

    private struct Closing {
        let final: UInt64
        /// The first view without it.
        var number: UInt64
    }

    private var groups: [SessionSource: [Branch]] = [:]
    /// Users on two sides have gone on without each other.
    var mayBranch = false

    /// A member is in a view now.
    /// - Parameter before: the branch in which the member was already.
    /// - Returns: the branch to which the view belongs, and, for one that nobody was in before, who is new in it.
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

    /// What a lost life had promised is void.
    private func replace(_ open: [SessionSource], in view: inout View?) {
        view?.open = open
        if let frozen = view?.frozen, !open.contains(frozen.source) { view?.frozen = nil }
    }

    /// Of a group of two, the survivor replaces a member that lost its store without another view.
    private func isSame(_ one: [SessionSource], _ two: [SessionSource]) -> Bool {
        one == two || one.count == 2 && one.map(\.peerID) == two.map(\.peerID)
    }

    /// The members of the newest view of a group.
    func newest(of line: GroupLine) -> (number: UInt64, open: [SessionSource])? {
        branch(line)?.views.max { $0.key < $1.key }.map { ($0.key, $0.value.open) }
    }

    /// The line that it is a branch of.
    func parent(of line: GroupLine) -> GroupLine? {
        guard line.branch > 0, let branch = branch(line) else { return nil }
        return GroupLine(group: line.group, branch: branch.parent)
    }

    /// Whether some view of any group has closed the source.
    func hasClosed(_ source: SessionSource) -> Bool {
        groups.values.contains { $0.contains { $0.closed[source] != nil } }
    }

    /// Whether an event lies, under each of its names, beyond what counts of a source that was closed, or was never open.
    func haveCut(_ names: [SourceSequence], in line: GroupLine) -> Bool {
        guard let branch = branch(line) else { return false }
        // What its author wrote before it joined it has issued again.
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

    // MARK: - What is promised between two views

    /// A member has said that until the next view it promises nothing beyond that stamp.
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
