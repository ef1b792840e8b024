/// The positions of one journal, as its writer tracks them.
///
/// ```swift
/// var (journal, batch) = (self.journal, StoreBatch())
/// let position = journal.append(bytes, in: &batch)
/// try store.commit(batch)
/// self.journal = journal          // unchanged if the commit failed
/// ```
package struct StoreJournal: Hashable, Sendable {
    package let name: String
    package private(set) var positions: Range<UInt64>

    /// Creates a journal that the store doesn't have yet.
    package init(_ name: String, from first: UInt64 = 1) {
        self.name = name
        positions = first..<first
    }

    package var isEmpty: Bool { positions.isEmpty }
    /// The position of the next entry.
    package var next: UInt64 { positions.upperBound }

    /// - Returns: the entry's position.
    @discardableResult
    package mutating func append(_ bytes: [UInt8], in batch: inout StoreBatch) -> UInt64 {
        let position = next
        batch.append(bytes, to: name, at: position)
        positions = positions.lowerBound..<position + 1
        return position
    }

    /// Removes all entries before a position.
    package mutating func truncate(below mark: UInt64, in batch: inout StoreBatch) {
        batch.truncate(name, below: mark)
        positions = max(mark, positions.lowerBound)..<max(mark, positions.upperBound)
    }

    package mutating func removeFirst(_ count: Int, in batch: inout StoreBatch) {
        truncate(below: min(positions.lowerBound + UInt64(max(0, count)), next), in: &batch)
    }

    package mutating func removeAll(in batch: inout StoreBatch) { truncate(below: next, in: &batch) }

    /// Removes the journal and continues its numbering, so no position is used twice while this value lives.
    package mutating func erase(in batch: inout StoreBatch) {
        batch.erase(name)
        positions = next..<next
    }

    // MARK: - The store

    /// Appends an entry in a batch of its own.
    /// - Throws: the store's error. Nothing has then changed.
    package mutating func append(_ bytes: [UInt8], to store: any SessionStore) throws -> UInt64 {
        var (journal, batch) = (self, StoreBatch())
        let position = journal.append(bytes, in: &batch)
        try store.commit(batch)
        self = journal
        return position
    }

    /// Loads the positions from the store. They stay as they are if the store doesn't have this journal.
    package mutating func load(from store: any SessionStore) throws { load(try store.catalog(prefix: name)) }

    package mutating func load(_ catalog: StoreCatalog) {
        if let found = catalog.journals.first(where: { $0.name == name }) { positions = found.positions }
    }
}
