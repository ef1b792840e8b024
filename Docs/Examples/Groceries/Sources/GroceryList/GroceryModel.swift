import MeshEngine
import MeshIdentity
public import MeshSession
import MeshTransport
public import Observation

extension EphemeralKey<String> {
    /// The item that the user is typing.
    public static let typing = EphemeralKey("typing")
}

/// Follows a session by Observation, the first of three ways: a SwiftUI view that reads a property updates with it.
@MainActor @Observable
public final class GroceryModel {
    private let session: GrocerySession

    public init(_ session: GrocerySession) { self.session = session }

    public var lines: [String] {
        session.state.items.map { session.state.bought.contains($0) ? "✓ \($0)" : $0 }
    }

    public var company: [String] {
        session.peers.map { peer in
            guard peer.isActive else { return "\(peer.peerID) is away" }
            guard let count = peer.unacknowledgedCount, count > 0 else { return "\(peer.peerID) is here" }
            return "\(peer.peerID) is here, and behind by \(count)"
        }
    }

    public var typing: [String] {
        session.values(of: .typing).filter { $0.key != session.transport.localPeer.id }
            .sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)…" }
    }

    public func type(_ text: String) throws { try session.show(text, as: .typing) }

    public func add(_ item: String) throws {
        try session.submit(.add(item))
        session.hide(.typing)
    }

    public func buy(_ item: String) throws { try session.submit(.buy(item)) }
}
