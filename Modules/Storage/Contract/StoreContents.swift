/// The content of a store, as a value: an executable form of the contract, and the implementation of the store in memory.
package struct StoreContents: Equatable, Sendable {
    private var values: [StoreName: [UInt8]] = [:]
    private var journals: [StoreName: Journal] = [:]

    private struct Journal: Equatable, Sendable {
        private(set) var first: UInt64
        /// Entries from `first` on, after `deadCount` truncated ones, which are removed once they are half of all.
        private var entries: [[UInt8]] = []
        private var deadCount = 0

        init(first: UInt64) { self.first = first }

        var next: UInt64 { first + UInt64(entries.count - deadCount) }
        var positions: Range<UInt64> { first..<next }

        subscript(position: UInt64) -> [UInt8] { entries[deadCount + Int(position - first)] }

        mutating func append(_ bytes: [UInt8]) { entries.append(bytes) }

        mutating func truncate(below mark: UInt64) {
            guard mark > first else { return }
            let count = min(mark, next) - first
            for index in deadCount..<deadCount + Int(count) { entries[index] = [] }
            deadCount += Int(count)
            first = mark
            if deadCount * 2 >= entries.count {
                entries.removeFirst(deadCount)
                deadCount = 0
            }
        }

        static func == (left: Journal, right: Journal) -> Bool {
            left.first == right.first
                && left.entries.dropFirst(left.deadCount).elementsEqual(right.entries.dropFirst(right.deadCount))
        }
    }

    package init() {}

    /// - Throws: `oversized` or `outOfOrder`, before anything changes.
    package mutating func commit(_ batch: StoreBatch) throws(StorageError) {
        try check(batch.checked())
        for operation in batch.operations { apply(operation) }
    }

    package func value(for key: String) -> [UInt8]? { values[StoreName(key)] }

    private mutating func apply(_ operation: StoreBatch.Operation) {
        switch operation {
        case .set(let key, let bytes): values[StoreName(key)] = bytes
        case .remove(let key): values[StoreName(key)] = nil
        case .append(let name, let entry):
            journals[StoreName(name), default: Journal(first: entry.position)].append(entry.bytes)
        case .truncate(let name, let mark):
            journals[StoreName(name), default: Journal(first: mark)].truncate(below: mark)
        case .erase(let name): journals[StoreName(name)] = nil
        }
    }

    /// Checks that every append has its journal's next position at that point of the batch.
    private func check(_ batch: StoreBatch) throws(StorageError) {
        var positions = JournalPositions { journals[StoreName($0)]?.next }
        for operation in batch.operations { try positions.follow(operation) }
    }

    package func catalog(prefix: String) -> StoreCatalog {
        StoreCatalog(
            keys: names(of: values, prefix).map(\.description),
            journals: names(of: journals, prefix).compactMap { name in
                journals[name].map { .init(name: name.description, positions: $0.positions) }
            })
    }

    package func entries(of name: String, from position: UInt64, maxBytes: Int) -> [StoreEntry] {
        guard let journal = journals[StoreName(name)] else { return [] }
        var entries: [StoreEntry] = []
        var byteCount = 0
        for position in max(position, journal.first)..<max(position, journal.next) {
            let bytes = journal[position]
            byteCount += bytes.count
            guard entries.isEmpty || byteCount <= maxBytes else { break }
            entries.append(StoreEntry(position: position, bytes: bytes))
        }
        return entries
    }

    private func names<Value>(of table: [StoreName: Value], _ prefix: String) -> [StoreName] {
        table.keys.filter { $0.starts(with: prefix) }.sorted()
    }
}

/// Tracks a batch's effect on the positions of journals without performing the batch.
package struct JournalPositions {
    /// Next positions by journal; nil for a journal that the batch erases.
    private var next: [StoreName: UInt64?] = [:]
    private let stored: (String) throws(StorageError) -> UInt64?

    /// - Parameter stored: returns a journal's next position before the batch; nil if there is no journal.
    package init(stored: @escaping (String) throws(StorageError) -> UInt64?) { self.stored = stored }

    /// - Throws: `outOfOrder`, or errors of `stored`.
    package mutating func follow(_ operation: StoreBatch.Operation) throws(StorageError) {
        switch operation {
        case .set, .remove: break
        case .append(let journal, let entry):
            let next = try position(of: journal) ?? entry.position
            guard entry.position == next else {
                throw StorageError(
                    .outOfOrder, "position \(entry.position) of '\(journal)'; append \(next) next")
            }
            self.next[StoreName(journal)] = entry.position + 1
        case .truncate(let journal, let mark):
            next[StoreName(journal)] = max(mark, try position(of: journal) ?? mark)
        case .erase(let journal): next[StoreName(journal)] = .some(nil)
        }
    }

    private func position(of journal: String) throws(StorageError) -> UInt64? {
        if let known = next[StoreName(journal)] { return known }
        return try stored(journal)
    }
}

extension StorageError {
    package static var closed: StorageError { StorageError(.closed, "the store has been closed; open it again") }
}
