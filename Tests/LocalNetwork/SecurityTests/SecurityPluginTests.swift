import MeshBus
import MeshSecurity
import Testing

@Suite struct SecurityPluginTests {
    @Test func `The plugin says what is there`() {
        let descriptor = SecurityPlugin().descriptor
        #if UDP
            #expect(descriptor.limits.map(\.bytes) == [SealedDatagrams.plaintextBytesMax])
            #expect(!descriptor.capabilities.isEmpty)
        #else
            #expect(descriptor.limits.isEmpty && descriptor.capabilities.isEmpty)
        #endif
    }

    #if UDP
        @Test func `The benchmark has a row for every size`() async throws {
            let bus = try PluginBus(plugins: [BusPlugin(), SecurityPlugin()])
            let cases = bus.contributions(to: .benchmarks).map(\.value).filter { $0.id == "sealing" }
            let stopwatch = BenchmarkStopwatch(batchDuration: .nanoseconds(1), batchCount: 1)
            let rows = try await cases[0].run(BenchmarkContext(bus: bus, stopwatch: stopwatch))
            #expect(rows.map { $0["bytes"] } == [0, 64, 256, 1200].map { .integer($0) })
        }
    #endif
}
