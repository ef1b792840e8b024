import GroceryList
import Household
import MeshSession
import Observation
import Testing

/// Tests with two devices of one household. The limit ends a test whose condition never holds.
@MainActor @Suite(.timeLimit(.minutes(10))) struct GroceryModelTests {
    private let household = Household(seed: 71)

    @Test func `A model shows the list, the company and who is typing, and its observers follow`() async throws {
        let (here, there) = (household.join("phone"), household.join("watch"))
        let (model, other) = (GroceryModel(here), GroceryModel(there))
        try await household.wait { here.isMember && there.isMember }
        let changes = Changes()
        withObservationTracking {
            _ = model.lines
        } onChange: {
            MainActor.assumeIsolated { changes.count += 1 }
        }
        try other.type("mil")
        try await household.wait { model.typing == ["watch: mil…"] }
        #expect(changes.count == 0, "no line has changed")
        try other.add("milk")
        try await household.wait { model.lines == ["milk"] && model.typing.isEmpty }
        #expect(changes.count == 1)
        try other.buy("milk")
        try await household.wait { model.lines == ["✓ milk"] && model.company == ["watch is here"] }
    }

    @Test func `What is added and bought out of reach is on both lists afterwards`() async throws {
        let (here, there) = (household.join("phone"), household.join("watch"))
        let (model, other) = (GroceryModel(here), GroceryModel(there))
        try model.add("milk")
        try await household.wait { other.lines == ["milk"] }
        household.part(here, from: there)
        try await household.wait { model.company == ["watch is away"] }
        try other.buy("milk")
        try await household.wait { other.lines == ["✓ milk"] }
        try model.add("bread")
        #expect(model.lines == ["milk", "bread"])
        household.reunite()
        try await household.wait { model.lines == ["✓ milk", "bread"] && other.lines == model.lines }
        try await household.wait { model.company == ["watch is here"] }
    }

    @MainActor private final class Changes { var count = 0 }
}
