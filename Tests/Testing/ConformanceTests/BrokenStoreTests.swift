import MeshBase
import MeshBus
import MeshStorage
import MeshTesting
import Testing

/// Each store rule is tested with a store that breaks it on purpose.
@Suite struct BrokenStoreTests {
    @Test func `The store on which all broken ones are based keeps every rule`() async {
        let report = await StoreConformance.examine(FaultyStore.factory(.init()), as: "storage.sound")
        #expect(report.failures == [])
        #expect(!report.rows.contains { $0.outcome == .skipped })
    }

    @Test(arguments: StoreConformance.rules.map(\.id))
    func `A store that breaks the rule fails it`(rule: String) async throws {
        let faults = try #require(brokenStores[rule], "no broken store for \(rule)")
        let report = await StoreConformance.examine(
            FaultyStore.factory(faults), as: "storage.broken", rules: StoreConformance.rules.filter { $0.id == rule })
        #expect(report[rule: rule]?.outcome == .failed)
    }
}

private typealias Operation = StoreBatch.Operation

private let brokenStores: [String: FaultyStore.Faults] = [
    "store.value.kept": .init(value: { $0 == [] ? nil : $0 }),
    "store.value.names": .init(name: { $0.lowercased() }),
    "store.value.large": .init(value: { $0.map { Array($0.prefix(1 << 20)) } }),
    "store.catalog.prefix": .init(catalog: { StoreCatalog(keys: $0.keys.reversed(), journals: $0.journals) }),
    "store.journal.order": .init(entries: { entries, _ in entries.reversed() }),
    "store.journal.from": .init(entries: { entries, position in
        position == 21 ? [StoreEntry(position: 20, bytes: [])] : entries
    }),
    "store.journal.pages": .init(ignoresPageSize: true),
    "store.journal.dense": .init(refusalsThatPass: [.outOfOrder]),
    "store.journal.truncate": rewriting { operation in
        if case .truncate(let journal, 4) = operation { .truncate(journal: journal, below: 5) } else { operation }
    },
    "store.journal.numbering": rewriting { operation in
        if case .truncate(let journal, 4) = operation { .erase(journal: journal) } else { operation }
    },
    "store.journal.erase": rewriting { operation in
        if case .erase(let journal) = operation { .truncate(journal: journal, below: 10) } else { operation }
    },
    "store.journal.ends": rewriting { operation in
        guard case .append(let journal, let entry) = operation else { return operation }
        let position = UInt64(UInt32(truncatingIfNeeded: entry.position))
        return .append(journal: journal, entry: StoreEntry(position: position, bytes: entry.bytes))
    },
    "store.batch.order": .init(batch: { StoreBatch($0.operations.reversed()) }),
    "store.batch.atomic": .init(commitsOneByOne: true),
    "store.batch.empty": .init(batch: { $0.isEmpty ? StoreBatch([.set(key: "empty", bytes: [])]) : $0 }),
    "store.batch.bounds": .init(refusalsThatPass: [.oversized]),
    "store.batch.whole": .init(catalog: { _ in
        StoreCatalog(journals: [.init(name: "left", positions: 1..<3), .init(name: "right", positions: 1..<2)])
    }),
    "store.batch.concurrent": .init(batch: { batch in
        StoreBatch(batch.operations.filter { $0 != .append(journal: "log 3", entry: .init(position: 25, bytes: [3])) })
    }),
    "store.open.empty": .init(opened: { contents, _ in try contents.with(.set(key: "version", bytes: [1])) }),
    "store.open.independent": .init(isShared: true),
    "store.reopen.kept": .init(opened: { _, _ in StoreContents() }),
    "store.reopen.numbering": .init(opened: { contents, isFirst in
        isFirst ? contents : try contents.with(.erase(journal: "log"))
    }),
    "store.reopen.refused": .init(keepsRefused: true),
    "store.open.exclusive": .init(isShared: true),
    "store.close.final": .init(acceptsEmptyBatchesWhenClosed: true),
]

private func rewriting(_ rewrite: @escaping @Sendable (Operation) -> Operation) -> FaultyStore.Faults {
    .init(batch: { StoreBatch($0.operations.map(rewrite)) })
}

extension StoreContents {
    fileprivate func with(_ operation: StoreBatch.Operation) throws -> StoreContents {
        var contents = self
        try contents.commit(StoreBatch([operation]))
        return contents
    }
}
