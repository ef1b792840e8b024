import MeshDelivery
import MeshSharedState

struct Settings: Codable, Sendable, Equatable { var isMetric = true }
@MainActor var transport: LinkTransport { fatalError() }
