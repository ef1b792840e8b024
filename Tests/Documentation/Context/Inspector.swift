import Foundation
import MeshEngine
import MeshTransport

@MainActor var transport: any SessionSyncTransport { fatalError() }
let id = UUID()

struct HeartRate: Codable, Equatable, Sendable { var rate = 0 }

struct Training: SessionFeature {
    static let featureID = "training"
    struct State: Codable, Equatable, Sendable { var last = HeartRate() }
    enum Event: Codable, Sendable { case beat(HeartRate) }
    let initialState = State()

    func reduce(state: inout State, event: Event, context: SessionEventContext) {
        if case .beat(let rate) = event { state.last = rate }
    }
}
