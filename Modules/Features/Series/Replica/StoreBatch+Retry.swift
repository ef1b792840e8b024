package import MeshStorage

extension StoreBatch {
    /// Returns this batch without the appends and erasures that the store has already done. Call it if the store may have
    /// committed the beginning of the batch. Other operations stay, because repeating them changes nothing.
    ///
    /// - Precondition: Entries appended after an erasure have higher positions than all before it.
    package func removingCommitted(in catalog: StoreCatalog) -> StoreBatch {
        let next = Dictionary(
            catalog.journals.map { ($0.name, $0.positions.upperBound) }, uniquingKeysWith: { first, _ in first })
        // Journals in which the store already has an entry that the batch appends after this operation.
        var done: Set<String> = []
        let rest = operations.reversed().filter { operation in
            switch operation {
            case .append(let journal, let entry):
                guard entry.position < next[journal] ?? 0 else { return true }
                done.insert(journal)
                return false
            case .erase(let journal): return !done.contains(journal)
            case .set, .remove, .truncate: return true
            }
        }
        return StoreBatch(rest.reversed())
    }
}
