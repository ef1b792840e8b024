import Testing

@testable import MeshBenchmarkCases

@MainActor @Suite struct StateBenchmarkTests {
    @Test(arguments: StateSample.all)
    func `Each change is counted: with fields as a part of the value, otherwise as all of it`(sample: StateSample)
        async throws
    {
        for merge in StateSample.Merge.allCases {
            let sizes = try await StateBenchmark.sizes(sample, merge)
            #expect(sizes.updates.count == 10)
            #expect(sizes.first.plain > sample.jsonBytes / 2)
            for update in sizes.updates {
                #expect(update.compressed <= update.plain)
                #expect(merge == .fields ? update.plain < 512 : update.plain > sample.jsonBytes, "\(merge)")
            }
        }
    }
}
