import MeshBase
import MeshBus
import MeshStorage
import MeshTesting
import Testing

@Suite struct StoreConformanceTests {
    @Test func `The store in memory keeps every rule for stores`() async {
        let report = await StoreConformance.examine(StoreFactory { _, _ in MemoryStore() }, as: "storage.memory")
        #expect(report.failures == [])
        #expect(report.rows.count == StoreConformance.rules.count)
        let skipped = report.rows.filter { $0.outcome == .skipped }.map(\.rule)
        #expect(skipped.allSatisfy { $0.hasPrefix("store.reopen.") || $0 == "store.open.exclusive" }, "\(skipped)")
    }
}
