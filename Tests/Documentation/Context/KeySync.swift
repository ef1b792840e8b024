import MeshConnection
import MeshKeySync

@MainActor var connection: TransportConnection { fatalError() }
