package import MeshStorage

extension StoreBatch {
    /// The batch for a store of which nobody knows how much of it has been done, by its beginning at least whole: without that.
    ///
    /// - Precondition: what a journal is given after it was erased lies behind what it had before.
    package func without(_ catalog: StoreCatalog) -> StoreBatch {
        let next = Dictionary(
            catalog.journals.map { ($0.name, $0.positions.upperBound) }, uniquingKeysWith: { first, _ in first })
        // Journals that have an entry which the batch appends after this operation.
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
