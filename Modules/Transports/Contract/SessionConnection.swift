import MeshBus
public import MeshIdentity

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// What shared state, requests and files need of whatever connects this peer to the others.
///
/// To the implementer: both members must be constant for the life of the connection; `stamp` must exceed every stamp that
/// it has drawn or that `observe` has been told of.
public protocol SessionConnection: Sendable {
    var transport: any SessionSyncTransport { get }
    /// The scope in which ids on this connection are unique.
    var sessionID: UUID { get }
    /// A stamp for a change made now.
    func stamp() -> HybridTimestamp
    /// Takes note of a stamp that arrived.
    func observe(_ stamp: HybridTimestamp)
}

/// A connection over any transport. Safe to use from any thread.
public final class TransportConnection: SessionConnection {
    public let transport: any SessionSyncTransport
    public let sessionID: UUID
    private let now: @Sendable () -> Date
    private let clock = Locked(HybridLogicalClock())

    /// - Parameters:
    ///   - sessionID: by default the one scope that all peers without sessions share.
    ///   - now: the wall clock; tests pass their own.
    public init(
        transport: any SessionSyncTransport, sessionID: UUID = TransportConnection.sharedScope,
        now: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.transport = transport
        self.sessionID = sessionID
        self.now = now
    }

    /// The session id of state that belongs to no session, such as settings.
    public static let sharedScope = UUID(uuid: (0, 0, 0, 0, 0, 0, 0x80, 0, 0x80, 0, 0, 0, 0, 0, 0, 1))

    public func stamp() -> HybridTimestamp {
        let wall = now().millisecondsSince1970
        return clock.withLock { $0.tick(wallMilliseconds: wall) }
    }

    public func observe(_ stamp: HybridTimestamp) {
        clock.withLock { $0.observe(stamp) }
    }
}
