import Foundation
public import GroceryList
import MeshEngine
import MeshIdentity
import MeshScenarioTransport
public import MeshSession

/// The devices of a household in one process, for a program, a preview or a test. In an app each device uses a real transport
/// instead; nothing else differs.
@MainActor public final class Household {
    private let network: ScenarioNetwork
    private let listID = UUID()

    /// - Parameter seed: Determines the random behavior of the network.
    public init(seed: UInt64) { network = ScenarioNetwork(seed: seed, conditions: .calm) }

    /// Adds a device that shares the list.
    /// - Parameter name: Name of the device. Must be unique.
    public func join(_ name: String) -> GrocerySession {
        let peer = SessionPeer(id: name, deviceClass: .phone, appInstanceID: name, topology: .localNetwork)
        var configuration = SyncedSessionConfiguration<Groceries, GroceryEvent>()
        configuration.now = { [network] in network.now }
        configuration.uptime = { [network] in network.elapsed }
        let session = GrocerySession(
            GroceryFeature(), sessionID: listID, over: network.makeTransport(localPeer: peer),
            configuration: configuration)
        session.start()
        return session
    }

    /// Disconnects two devices from each other until `reunite`.
    public func part(_ one: GrocerySession, from other: GrocerySession) {
        network.partition([one.transport.localPeer], [other.transport.localPeer])
    }

    public func reunite() { network.heal() }

    /// Lets time pass until the condition holds, at least one step.
    /// - Throws: `CancellationError`.
    public func wait(until condition: () -> Bool) async throws {
        repeat {
            network.advance(by: .milliseconds(10))
            try await Task.sleep(for: .milliseconds(10))
        } while !condition()
    }
}
