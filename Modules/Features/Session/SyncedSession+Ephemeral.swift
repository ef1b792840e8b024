public import Foundation
import MeshBase
import MeshEngine
import MeshIdentity
import MeshWire

/// Values of which only the newest counts.
extension SyncedSession {
    /// Shows a value to the others, in place of the last one under that key. Values that are shown faster than they can be sent
    /// make room for the newest; one that is lost is made up for by the next, or within ten exchange intervals.
    ///
    /// They leave at most once in `SyncedSessionConfiguration.ephemeralInterval`. A device shows 64 keys; of more, the one that has
    /// been silent longest goes. Nothing is kept for devices that cannot be reached: they are shown the newest when they come.
    ///
    /// - Parameter moment: when it was measured; nil is now.
    /// - Throws: `SessionSyncError.payloadTooLarge` beyond 4096 bytes, `outOfRange` for a name that is empty or has more than
    ///   128 bytes, `closed`, and what encoding throws.
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

    /// Shows nothing under that key any more, on no device. Closing the session does that for all keys.
    public func hide<Value>(_ key: EphemeralKey<Value>) {
        guard phase != .closed else { return }
        turn { [now] in $0.hide(key.name, at: now) }
    }

    /// The values that peers show under a key, by peer ID, this device included: who looks, who is typing, where the cursors are.
    ///
    /// A peer is in it from its `show` on until it hides or closes, the transport says that it has gone, the group goes on without
    /// it, or it has been silent for thirty exchange intervals, which is looked at every ten. What another version of the app
    /// shows and `Value` cannot read is left out. Of at most 64 peers. Complexity: decodes one value of each.
    public func values<Value>(of key: EphemeralKey<Value>) -> [String: Value] {
        // Reading this lets a view follow.
        _ = ephemeralTurn
        let values: [EphemeralValue<Value>] = core.shown(key.name).compactMap(Self.read)
        return Dictionary(values.map { ($0.peerID, $0.value) }) { first, _ in first }
    }

    /// The newest value for a key, across all peers and this device. Peers leave it as they leave `values(of:)`.
    public func latestValue<Value>(of key: EphemeralKey<Value>) -> EphemeralValue<Value>? {
        // Reading this lets a view follow.
        _ = ephemeralTurn
        return core.shown(key.name).max { $0.stamp < $1.stamp }.flatMap(Self.read)
    }

    /// The newest value for a key of one peer.
    public func latestValue<Value>(of key: EphemeralKey<Value>, by peerID: String) -> EphemeralValue<Value>? {
        _ = ephemeralTurn
        return core.ephemerals[key.name, by: peerID].flatMap(Self.read)
    }

    /// The values that other peers show under a key from now on: the newest 16.
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
