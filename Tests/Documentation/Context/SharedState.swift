import MeshConnection
import MeshSharedState

struct Settings: Codable, Sendable, Equatable { var isMetric = true }
let newSettings = Settings(isMetric: false)
@MainActor var connection: TransportConnection { fatalError() }
