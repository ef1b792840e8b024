package import MeshStorage

extension MemoryStore {
    /// Returns a store with the same contents, as after a backup, plus a change.
    package func copy(_ change: (inout StoreBatch) throws -> Void = { _ in }) throws -> MemoryStore {
        let copy = MemoryStore()
        var batch = StoreBatch()
        let catalog = try catalog(prefix: "")
        for key in catalog.keys {
            if let value = try value(for: key) { batch.set(value, for: key) }
        }
        for journal in catalog.journals {
            batch.truncate(journal.name, below: journal.positions.lowerBound)
            for entry in try entries(of: journal.name, from: 0, maxBytes: .max) {
                batch.append(entry.bytes, to: journal.name, at: entry.position)
            }
        }
        try change(&batch)
        try copy.commit(batch)
        return copy
    }
}
