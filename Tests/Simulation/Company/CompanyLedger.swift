/// What was decided and confirmed anywhere, for comparing. No part of the protocol.
struct CompanyLedger {
    private struct Entry {
        var view: CompanyView
        var id: Int
    }

    /// By position; more than one where groups went on without each other.
    private var stream: [[Entry]] = []
    private var positions: [Int: [(position: Int, view: CompanyView)]] = [:]
    private var decided: [CompanyView] = []
    private var forced: [CompanyView] = []
    private(set) var newest: CompanyView

    init(first: CompanyView) { newest = first }

    var confirmedCount: Int { stream.count }

    /// P4: a number is given to one view, unless the user had sides go on without each other.
    mutating func decide(_ record: CompanyView, isForced: Bool) throws(CompanyViolation) {
        if record.supersedes(newest) { newest = record }
        guard !decided.contains(record) else { return }
        decided.append(record)
        if isForced { forced.append(record) }
        let other = decided.first { $0.number == record.number && $0 != record }
        if let other, !isForcedChain(record), !isForcedChain(other) {
            throw CompanyViolation("P4: two views: \(other.text); \(record.text)")
        }
    }

    private func isForcedChain(_ record: CompanyView) -> Bool { forced.contains { record.follows($0) } }

    private func isOnOneChain(_ one: CompanyView, _ other: CompanyView) -> Bool {
        one.follows(other) || other.follows(one)
    }

    /// P1 and P3.
    mutating func confirm(_ id: Int, at position: Int, by member: Int, in view: CompanyView) throws(CompanyViolation) {
        while stream.count <= position { stream.append([]) }
        for entry in stream[position] where isOnOneChain(entry.view, view) {
            if entry.id == id { return }
            throw CompanyViolation("P1: \(member) confirms \(id) at \(position), where \(entry.id) was confirmed")
        }
        for other in positions[id, default: []] where isOnOneChain(other.view, view) && other.position != position {
            throw CompanyViolation("P3: \(member) confirms \(id) at \(other.position) and at \(position)")
        }
        stream[position].append(Entry(view: view, id: id))
        positions[id, default: []].append((position, view))
    }

    /// On the chain of the newest view; what a side that loses has confirmed may still be lost with its stores.
    func isConfirmed(_ id: Int) -> Bool {
        positions[id, default: []].contains { isOnOneChain($0.view, newest) }
    }

    /// What members of this view must have at each position.
    func stream(of view: CompanyView) -> [Int?] {
        stream.map { entries in entries.first { isOnOneChain($0.view, view) }?.id }
    }
}
