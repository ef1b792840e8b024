import MeshBase
import Testing

@testable import MeshSimulation

@Suite struct SimulationThreadTests {
    @available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
    @Test func `Tasks that yield continue in turns, on the main actor and off it`() {
        let steps = SimulationThread.run { thread in
            let steps = Locked<[String]>([])
            Task { @MainActor in
                for step in 0..<3 {
                    steps.withLock { $0.append("main \(step)") }
                    await Task.yield()
                }
            }
            Task.detached {
                for step in 0..<3 {
                    steps.withLock { $0.append("off \(step)") }
                    await Task.yield()
                }
            }
            thread.runAll()
            return steps.withLock { $0 }
        }
        #expect(steps.sorted() == ["main 0", "main 1", "main 2", "off 0", "off 1", "off 2"])
        let (off, main) = (steps.firstIndex(of: "off 1") ?? 0, steps.firstIndex(of: "main 2") ?? 0)
        #expect(off < main, "neither waits for the other's end")
    }
}
