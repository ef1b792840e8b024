public import Foundation
import MeshBus
import MeshEngine
import MeshIdentity
import MeshWire

/// Values of which only the newest counts.
extension SyncedSession {
    /// Shows a value to the others, in place of the last one under that key. Values that are shown faster than they can be sent
    /// make room for the newest; one that is lost is made up for by the next, or within ten exchange intervals.
    ///
    /// Nothing is kept for devices that cannot be reached: they are shown the newest when they come.
    /// - Parameter moment: when it was measured; nil is now.
    /// - Throws: `SessionSyncError.payloadTooLarge` beyond 4096 bytes, `outOfRange` for a name that is empty or has more than
    ///   128 bytes, `closed`, and what encoding throws.
    public func show<Value>(_ value: Value, as key: EphemeralKey<Value>, at moment: Date? = nil) throws {
        guard phase != .closed else { throw SessionSyncError.closed }
        let bytes = try CompactCodec().encode(value)
        let moment = moment ?? now
        try turn { try $0.show(bytes, as: key.name, at: moment) }
    }

    /// The newest value under a key, whoever shows it, this device included.
    ///
    /// What a peer shows is gone when the transport says that it has gone, and else after it has been silent for thirty exchange
    /// intervals.
    public func shown<Value>(_ key: EphemeralKey<Value>) -> EphemeralValue<Value>? {
        // Reading this lets a view follow.
        _ = ephemeralTurn
        return core.ephemerals[key.name].flatMap(Self.read)
    }

    /// The same of one peer.
    public func shown<Value>(_ key: EphemeralKey<Value>, by peerID: String) -> EphemeralValue<Value>? {
        _ = ephemeralTurn
        return core.ephemerals[key.name, by: peerID].flatMap(Self.read)
    }

    /// What other peers show under a key from now on, as it comes: the newest 16.
    public func shownValues<Value>(_ key: EphemeralKey<Value>) -> AsyncStream<EphemeralValue<Value>> {
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
        guard let value = try? CompactCodec().decode(Value.self, from: sample.value) else { return nil }
        return EphemeralValue(
            value: value, peerID: sample.source.peerID,
            moment: Date(timeIntervalSince1970: Double(sample.stamp.milliseconds) / 1000))
    }
}
