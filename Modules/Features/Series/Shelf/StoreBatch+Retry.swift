package import MeshStorage

extension StoreBatch {
    /// The batch for a store of which nobody knows whether it has taken it: without what is there. Batches are done whole or not
    /// at all.
    package func without(_ catalog: StoreCatalog) -> StoreBatch {
        let next = Dictionary(
            catalog.journals.map { ($0.name, $0.positions.upperBound) }, uniquingKeysWith: { first, _ in first })
        return StoreBatch(
            operations.filter { operation in
                guard case .append(let journal, let entry) = operation else { return true }
                return entry.position >= next[journal] ?? 0
            })
    }
}
