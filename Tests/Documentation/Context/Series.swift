import MeshEngine
import MeshSeries
import MeshSession

struct Ride: SessionFeature {
    static let featureID = "ride"
    struct State: Codable, Sendable { var laps: [Double] = [] }
    enum Event: Codable, Sendable { case lap(metres: Double) }
    let initialState = State()

    func reduce(state: inout State, event: Event, context: SessionEventContext) {}
}

struct Position: Codable, Sendable { var latitude, longitude: Double }
extension Series<Position> { static let track = Series("track") }
@MainActor var watch: SessionOf<Ride> { fatalError() }
