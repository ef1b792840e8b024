import Foundation
public import GroceryList
import MeshEngine
import MeshIdentity
import MeshScenarioTransport
public import MeshSession

/// The devices of a household in one process: for a program, a preview or a test. An app has a transport to each of the others
/// instead, and nothing else of it differs.
@MainActor public final class Household {
    private let network: ScenarioNetwork
    private let listID = UUID()

    /// - Parameter seed: what the network draws follows from it.
    public init(seed: UInt64) { network = ScenarioNetwork(seed: seed, conditions: .calm) }

    /// A device that has the list.
    /// - Parameter name: one device of that name only.
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

    /// Takes the two out of each other's reach, until `reunite`.
    public func part(_ one: GrocerySession, from other: GrocerySession) {
        network.partition([one.transport.localPeer], [other.transport.localPeer])
    }

    public func reunite() { network.heal() }

    /// Lets time pass, at least a moment, until the condition holds.
    /// - Throws: `CancellationError`.
    public func wait(until condition: () -> Bool) async throws {
        repeat {
            network.advance(by: .milliseconds(10))
            try await Task.sleep(for: .milliseconds(10))
        } while !condition()
    }
}
