/// One journal as the module that writes it knows it: where its entries are, and where the next one goes.
///
/// ```swift
/// var (journal, batch) = (self.journal, StoreBatch())
/// let position = journal.append(bytes, in: &batch)
/// try store.commit(batch)
/// self.journal = journal          // it is as it was when the store has not done it
/// ```
package struct StoreJournal: Hashable, Sendable {
    package let name: String
    package private(set) var positions: Range<UInt64>

    /// One that the store does not have yet.
    package init(_ name: String, from first: UInt64 = 1) {
        self.name = name
        positions = first..<first
    }

    package var isEmpty: Bool { positions.isEmpty }
    /// Where the next entry goes.
    package var next: UInt64 { positions.upperBound }

    /// - Returns: its position.
    @discardableResult
    package mutating func append(_ bytes: [UInt8], in batch: inout StoreBatch) -> UInt64 {
        let position = next
        batch.append(bytes, to: name, at: position)
        positions = positions.lowerBound..<position + 1
        return position
    }

    /// Gives up what lies before a position.
    package mutating func truncate(below mark: UInt64, in batch: inout StoreBatch) {
        batch.truncate(name, below: mark)
        positions = max(mark, positions.lowerBound)..<max(mark, positions.upperBound)
    }

    package mutating func removeFirst(_ count: Int, in batch: inout StoreBatch) {
        truncate(below: min(positions.lowerBound + UInt64(max(0, count)), next), in: &batch)
    }

    package mutating func removeAll(in batch: inout StoreBatch) { truncate(below: next, in: &batch) }

    /// The journal goes, and its numbering goes on: no position is used twice while this value lives.
    package mutating func erase(in batch: inout StoreBatch) {
        batch.erase(name)
        positions = next..<next
    }

    /// The newest entry was not written.
    package mutating func takeBackLast() {
        guard !isEmpty else { return }
        positions = positions.lowerBound..<next - 1
    }

    // MARK: - The store

    /// Appends in a batch of its own.
    /// - Throws: what the store throws; nothing has changed then.
    package mutating func append(_ bytes: [UInt8], to store: any SessionStore) throws -> UInt64 {
        var (journal, batch) = (self, StoreBatch())
        let position = journal.append(bytes, in: &batch)
        try store.commit(batch)
        self = journal
        return position
    }

    /// Where its entries are in the store; unchanged where that has no such journal.
    package mutating func load(from store: any SessionStore) throws { load(try store.catalog(prefix: name)) }

    package mutating func load(_ catalog: StoreCatalog) {
        if let found = catalog.journals.first(where: { $0.name == name }) { positions = found.positions }
    }
}
