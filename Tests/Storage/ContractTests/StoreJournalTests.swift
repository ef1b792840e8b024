import MeshBase
import Testing

@testable import MeshStorage

@Suite struct StoreJournalTests {
    @Test(arguments: 0..<200 as Range<UInt64>)
    func `A journal tracks its entries through any operations and rejections`(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        let store = MemoryStore()
        var journal = StoreJournal("a", from: random.next() % 3)
        var used = Set<UInt64>()
        for _ in 0..<100 {
            var (next, batch) = (journal, StoreBatch())
            switch random.next() % 8 {
            case 0: next.truncate(below: next.positions.lowerBound + random.next() % 5, in: &batch)
            case 1: next.removeFirst(Int(random.next() % 5), in: &batch)
            case 2: next.removeAll(in: &batch)
            case 3: next.erase(in: &batch)
            default:
                let position = next.append([1], in: &batch)
                #expect(!used.contains(position), "seed \(seed): position \(position) is used twice")
            }
            // One in four isn't committed.
            guard random.next() % 4 > 0 else { continue }
            try store.commit(batch)
            used.formUnion(journal.next..<max(journal.next, next.next))
            journal = next
            var found: [UInt64] = []
            try store.forEachEntry(of: "a") { found.append($0.position) }
            #expect(found == Array(journal.positions), "seed \(seed)")
            var loaded = StoreJournal("a", from: journal.next)
            try loaded.load(from: store)
            #expect(loaded == journal, "seed \(seed)")
        }
    }

    @Test func `A commit that the store refuses leaves the journal unchanged`() throws {
        let store = MemoryStore()
        var journal = StoreJournal("a")
        #expect(try journal.append([1], to: store) == 1)
        store.close()
        #expect(throws: StorageError.self) { try journal.append([2], to: store) }
        #expect(journal.next == 2)
    }
}
