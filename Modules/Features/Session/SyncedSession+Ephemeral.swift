public import Foundation
import MeshBase
import MeshEngine
import MeshIdentity
import MeshWire

/// Values of which only the newest counts.
extension SyncedSession {
    /// Shows a value to the other devices, in place of the last one for that key. If values come faster than they can
    /// be sent, only the newest is sent. A lost value is sent again after two exchange intervals, then more rarely.
    ///
    /// Values leave at most once per `SyncedSessionConfiguration.ephemeralInterval`. A device shows 64 keys at most;
    /// one more replaces the key with the oldest value. A device that comes into reach gets the newest values.
    ///
    /// - Parameter moment: the time of the measurement; nil is now.
    /// - Throws: `SessionSyncError.payloadTooLarge` beyond 4096 bytes, `outOfRange` if the name is empty or exceeds 128
    ///   bytes, `sessionClosed`, and encoding errors.
    public func show<Value>(_ value: Value, as key: EphemeralKey<Value>, at moment: Date? = nil) throws {
        guard phase != .closed else { throw SessionSyncError.sessionClosed }
        if !hasStarted { expectStart() }
        let bytes = try CompactCodec().encode(value)
        let moment = moment ?? now
        let loss = CodingLoss.report(
            from: value, to: try CompactCodec().decode(Value.self, from: bytes), in: "a value shown as '\(key.name)'")
        try turn { core in
            core.report(loss)
            try core.show(bytes, as: key.name, at: moment)
        }
    }

    /// Stops showing a value under a key, on all devices. Closing the session does that for all keys.
    public func hide<Value>(_ key: EphemeralKey<Value>) {
        guard phase != .closed else { return }
        turn { [now] in $0.hide(key.name, at: now) }
    }

    /// Returns the values that peers show under a key, by peer ID, this device included: viewers, typists, cursors.
    ///
    /// A peer's value disappears when the peer hides it or closes, leaves the group, is gone for the transport, or has
    /// been silent for too long (see `SessionPeerStatus.isActive`). Omits values that can't be decoded as `Value`, such
    /// as another app version's. Has at most 64 peers. Complexity: decodes one value per peer.
    public func values<Value>(of key: EphemeralKey<Value>) -> [String: Value] {
        // Registers the caller as an observer.
        _ = ephemeralTurn
        let values: [EphemeralValue<Value>] = core.shown(key.name).compactMap(Self.read)
        return Dictionary(values.map { ($0.peerID, $0.value) }) { first, _ in first }
    }

    /// Returns the newest value for a key, across all peers and this device. It disappears as in `values(of:)`.
    public func latestValue<Value>(of key: EphemeralKey<Value>) -> EphemeralValue<Value>? {
        // Registers the caller as an observer.
        _ = ephemeralTurn
        return core.shown(key.name).max { $0.stamp < $1.stamp }.flatMap(Self.read)
    }

    /// Returns a peer's newest value for a key.
    public func latestValue<Value>(of key: EphemeralKey<Value>, by peerID: String) -> EphemeralValue<Value>? {
        _ = ephemeralTurn
        return core.ephemerals[key.name, by: peerID].flatMap(Self.read)
    }

    /// Returns a stream of the values that other peers show under a key from now on. Keeps the newest 16.
    public func valueUpdates<Value>(of key: EphemeralKey<Value>) -> AsyncStream<EphemeralValue<Value>> {
        let samples = ephemeralTopic.subscribe()
        return AsyncStream(bufferingPolicy: .bufferingNewest(16)) { continuation in
            let task = Task {
                for await sample in samples where sample.key == key.name {
                    if let value: EphemeralValue<Value> = Self.read(sample) { continuation.yield(value) }
                }
                continuation.finish()
            }
            continuation.onTermination = { _ in task.cancel() }
        }
    }

    nonisolated private static func read<Value: Codable & Sendable>(
        _ sample: EphemeralLane<[UInt8]>.Sample
    ) -> EphemeralValue<Value>? {
        guard !sample.value.isEmpty, let value = try? CompactCodec().decode(Value.self, from: sample.value) else {
            return nil
        }
        return EphemeralValue(
            value: value, peerID: sample.source.peerID,
            moment: Date(timeIntervalSince1970: Double(sample.stamp.milliseconds) / 1000))
    }
}
