import Foundation

/// What was asked of the counterpart in its own frames, and has not been answered. Beyond `countMax` the oldest are
/// forgotten: nobody waits for them any more.
struct Questions {
    enum Kind {
        /// Which frames it speaks.
        case hello
        /// Whether it is there, by a probe.
        case probe
        case request(type: String)
        /// A fire-and-forget request, to which nobody needs an answer.
        case told

        fileprivate var isRequest: Bool { if case .request = self { true } else { false } }
    }

    static let countMax = 4096
    private var kinds: [UUID: Kind] = [:]
    /// In the order in which they were asked, with some that have been answered.
    private var ids: [UUID] = []
    /// Those to which somebody waits for the counterpart's own answer.
    private(set) var requestCount = 0

    /// - Returns: false when it has been asked already.
    mutating func ask(_ id: UUID, _ kind: Kind) -> Bool {
        guard kinds[id] == nil else { return false }
        kinds[id] = kind
        ids.append(id)
        if kind.isRequest { requestCount += 1 }
        guard ids.count > Self.countMax else { return true }
        for old in ids.prefix(Self.countMax / 4) { _ = remove(old) }
        ids.removeFirst(Self.countMax / 4)
        return true
    }

    mutating func remove(_ id: UUID) -> Kind? {
        let kind = kinds.removeValue(forKey: id)
        if kind?.isRequest == true { requestCount -= 1 }
        return kind
    }
}
