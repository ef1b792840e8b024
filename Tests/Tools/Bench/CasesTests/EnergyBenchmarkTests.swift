#if CommandLineTools
    import Foundation
    import MeshBenchmarks
    import MeshTestSupport
    import MeshToolOutput
    import Testing

    @testable import MeshBenchmarkCases

    /// Detects changes in what devices send or write, in `Tests/Fixtures/Energy/counts.json`.
    ///
    /// `SESSIONMESH_UPDATE_FIXTURES=1 swift test --filter EnergyBenchmarkTests` rewrites the file.
    @Suite struct EnergyBenchmarkTests {
        private static let isUpdating = ProcessInfo.processInfo.environment["SESSIONMESH_UPDATE_FIXTURES"] == "1"

        @available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
        @Test func `Messages, bytes, bursts and writes are the stored counts`() throws {
            let counts = try EnergyScenario.allCases.flatMap { try EnergyRun.counts(of: $0) }
            let file = Checkout.fixtures.appending(path: "Energy/counts.json")
            if Self.isUpdating {
                let encoder = JSONEncoder()
                encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
                try (encoder.encode(counts) + Data("\n".utf8)).write(to: file)
            }
            let stored = try JSONDecoder().decode([EnergyCounts].self, from: Data(contentsOf: file))
            #expect(
                counts == stored,
                """
                Stored:
                \(text(of: stored))

                Now:
                \(text(of: counts))

                If the change is meant: SESSIONMESH_UPDATE_FIXTURES=1 swift test --filter EnergyBenchmarkTests
                """)
        }

        @available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
        @Test func `The table fits into 100 columns`() {
            let spans = EnergyScenario.allCases.flatMap(\.spans)
            let widest = spans.map { span in
                var counts = EnergyCounts(span)
                (counts.messages, counts.bytes, counts.writes) = (99_999, 9_999_999, 99_999)
                (counts.bursts200ms, counts.bursts2s, counts.lanes.message) = (99_999, 99_999, 99_999)
                return counts
            }
            let lines = text(of: widest).split(separator: "\n")
            #expect(lines.allSatisfy { $0.count <= 100 }, "\(text(of: widest))")
        }

        private func text(of counts: [EnergyCounts]) -> String { BenchmarkTable.text(of: counts.map(\.row)) }
    }
#endif
