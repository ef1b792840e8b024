public import Foundation
public import MeshTransport

/// How a `SyncedSession` behaves. Every default is right for a feature with taps and a few samples a second.
public struct SyncedSessionConfiguration<State: Sendable, Event: Sendable>: Sendable {
    /// Name of the event type on the wire; nil is the feature id and `.event`.
    public var payloadType: String?
    /// Name of the state type on the wire; nil is the feature id and `.state`.
    public var snapshotPayloadType: String?
    public var incarnation: UInt32 = 0
    /// How events travel.
    public var eventDelivery: SessionDeliveryMode = .realtimeBestEffort
    /// Events of such a rate that no snapshot follows them, such as heart-rate samples.
    public var isHighRate: @Sendable (Event) -> Bool = { _ in false }
    /// States in which nothing has begun: a snapshot of one is not taken from a peer.
    public var isIdle: @Sendable (State) -> Bool = { _ in false }
    /// How old a retained snapshot may be when no live peer stands behind it.
    public var stalenessBudget: Duration = .seconds(300)
    /// How much the sender's clock is ahead of this device's, in seconds; corrects the age of a retained snapshot.
    public var clockOffsetSeconds: TimeInterval = 0
    /// The shortest time between two snapshot requests.
    public var requestInterval: Duration = .seconds(1)
    /// Messages that wait to be sent; beyond it `submit` throws `SessionSyncError.queueFull`.
    public var outgoingMax = 4096
    public var now: @Sendable () -> Date = { Date() }
    /// Lets that much time pass by `now`.
    public var wait: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }

    public init() {}
}
