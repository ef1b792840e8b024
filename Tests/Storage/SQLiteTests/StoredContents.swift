#if SQLite
    import MeshBase
    import MeshStorage
    import Testing

    /// The complete contents of a store.
    struct StoredContents: Equatable {
        var values: [String: [UInt8]] = [:]
        var journals: [String: [StoreEntry]] = [:]
        var catalog: StoreCatalog

        init(_ store: some SessionStore) throws {
            catalog = try store.catalog(prefix: "")
            for key in catalog.keys { values[key] = try store.value(for: key) }
            for journal in catalog.journals {
                journals[journal.name] = try store.entries(of: journal.name, from: 0, maxBytes: .max)
            }
        }

        init(_ contents: StoreContents) {
            catalog = contents.catalog(prefix: "")
            for key in catalog.keys { values[key] = contents.value(for: key) }
            for journal in catalog.journals {
                journals[journal.name] = contents.entries(of: journal.name, from: 0, maxBytes: .max)
            }
        }
    }

    extension StoreBatch {
        /// A batch of up to `count` operations on few names, most of which continue the existing contents.
        static func random(
            after contents: StoreContents, count: Int = 6, using generator: inout SplitMix64
        ) -> StoreBatch {
            var batch = StoreBatch()
            var next: [String: UInt64] = [:]
            for journal in contents.catalog(prefix: "").journals { next[journal.name] = journal.positions.upperBound }
            for _ in 0...Int.random(in: 0..<count, using: &generator) {
                let key = ["k", "key", "å", "å", "z/1"].randomElement(using: &generator) ?? ""
                let journal = ["log", "log/2", "ü"].randomElement(using: &generator) ?? ""
                switch Int.random(in: 0..<20, using: &generator) {
                case 0..<4: batch.set(.random(using: &generator), for: key)
                case 4: batch.removeValue(for: key)
                case 5:
                    let mark = (next[journal] ?? 0) + .random(in: 0...4, using: &generator)
                    let below = mark < 2 ? mark : mark - 2
                    batch.truncate(journal, below: below)
                    next[journal] = max(next[journal] ?? below, below)
                case 6 where Bool.random(using: &generator):
                    batch.erase(journal)
                    next[journal] = nil
                case 7 where Int.random(in: 0..<4, using: &generator) == 0:
                    batch.append([1], to: journal, at: (next[journal] ?? 0) + 1)
                default:
                    let position = next[journal] ?? .random(in: 0...9, using: &generator)
                    batch.append(.random(using: &generator), to: journal, at: position)
                    next[journal] = position + 1
                }
            }
            return batch
        }

        static func filled(_ fill: (inout StoreBatch) -> Void) -> StoreBatch {
            var batch = StoreBatch()
            fill(&batch)
            return batch
        }
    }

    extension [UInt8] {
        /// Random bytes, mostly few, sometimes more than a page.
        static func random(using generator: inout SplitMix64) -> [UInt8] {
            let limit = [3, 120, 120, 120, 9000].randomElement(using: &generator) ?? 0
            return (0..<Int.random(in: 0...limit, using: &generator)).map { _ in .random(in: 0...255, using: &generator)
            }
        }
    }

    /// The code of the error that `body` throws, or nil if it throws none.
    func code(of body: () throws -> Void) throws -> StorageError.Code? {
        do {
            try body()
            return nil
        } catch let error as StorageError {
            return error.code
        }
    }
#endif
