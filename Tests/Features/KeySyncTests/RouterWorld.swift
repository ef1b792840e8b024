import Foundation
import MeshBase
import MeshConnection
import MeshIdentity
import MeshScenarioTransport
import MeshStorage
import MeshTransport

@testable import MeshKeySync

/// Routers on one simulated network. They can be disconnected, die, and return with their stores.
@MainActor
final class RouterWorld {
    let network: ScenarioNetwork
    private(set) var devices: [Device] = []

    init(
        seed: UInt64 = 3, _ ids: [String] = ["phone", "watch"], isSecured: Bool = false,
        makeStore: (String) throws -> any SessionStore = { _ in MemoryStore() }
    ) throws {
        network = ScenarioNetwork(seed: seed, conditions: .calm)
        if isSecured { network.provePeers() }
        devices = try ids.map { Device($0, on: network, try makeStore($0)) }
    }

    subscript(_ id: String) -> Device {
        guard let device = devices.first(where: { $0.peer.id == id }) else { preconditionFailure("no \(id)") }
        return device
    }

    func attachAll() async throws {
        for device in devices { try await device.router.attach(to: device.connection) }
    }

    /// Advances virtual time in small steps until the condition holds.
    @discardableResult
    func run(for duration: Duration = .seconds(30), until condition: () async throws -> Bool = { false }) async throws
        -> Bool
    {
        let end = network.elapsed + duration
        while network.elapsed < end {
            for _ in 0..<40 { await Task.yield() }
            if try await condition() { return true }
            network.advance(by: .milliseconds(100))
        }
        return try await condition()
    }

    func cut() { network.partition([devices[0].peer], devices[1...].map(\.peer)) }

    @MainActor
    final class Device {
        let peer: SessionPeer
        private let network: ScenarioNetwork
        var store: any SessionStore
        private(set) var connection: TransportConnection
        private(set) var router = StorageRouter()

        init(_ id: String, on network: ScenarioNetwork, _ store: any SessionStore) {
            self.network = network
            self.store = store
            peer = SessionPeer(id: id, deviceClass: .phone, appInstanceID: "1", topology: .sameHost)
            connection = Self.connect(peer, network, store)
        }

        private static func connect(
            _ peer: SessionPeer, _ network: ScenarioNetwork, _ store: any SessionStore
        ) -> TransportConnection {
            TransportConnection(
                transport: network.makeTransport(localPeer: peer), store: store, clock: network.clock(of: peer))
        }

        /// Kills the process and launches it again with a store.
        func relaunch(with store: (any SessionStore)? = nil) {
            network.crash(peer)
            self.store = store ?? self.store
            router = StorageRouter()
            reconnect()
        }

        func reconnect() { connection = Self.connect(peer, network, store) }
    }
}
