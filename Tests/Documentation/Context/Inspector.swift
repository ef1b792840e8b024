import MeshTransport

@MainActor var transport: any SessionSyncTransport { fatalError() }
