import MeshConnection
import MeshKeySync
import Observation

@MainActor var connection: TransportConnection { fatalError() }
