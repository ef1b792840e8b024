import Foundation

/// Messages sent to the counterpart in its own frames that haven't been answered. Beyond `countMax` the oldest quarter
/// is dropped, because its callers have timed out by then.
struct OutstandingQueries {
    enum Kind {
        /// Asks for the dialect.
        case hello
        /// Checks whether the counterpart is there.
        case probe
        case request(type: String)
        /// A fire-and-forget request, whose answer is ignored.
        case fireAndForget

        fileprivate var isRequest: Bool { if case .request = self { true } else { false } }
    }

    static let countMax = 4096
    private var kinds: [UUID: Kind] = [:]
    /// IDs in sending order, including some that have been answered.
    private var ids: [UUID] = []
    /// The number of requests whose caller waits for an answer.
    private(set) var requestCount = 0

    /// - Returns: False if the ID is already present.
    mutating func insert(_ id: UUID, _ kind: Kind) -> Bool {
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
