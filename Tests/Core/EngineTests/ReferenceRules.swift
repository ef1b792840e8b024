import Foundation
import MeshIdentity

@testable import MeshEngine

/// The calls of a device that a scenario uses. It runs with our rules and with the reference's.
protocol Device {
    init(_ peer: String, incarnation: UInt32)
    var state: [String] { get }
    mutating func tap(_ event: String, at moment: Date) -> SessionSyncEnvelope<String>
    mutating func hear(_ envelope: SessionSyncEnvelope<String>)
    mutating func snapshot() -> SessionSyncSnapshot<[String]>
    mutating func hear(_ snapshot: SessionSyncSnapshot<[String]>)
    /// Receives an event of a kind that this version doesn't know.
    mutating func hearUnknown(_ metadata: SessionSyncMetadata)
    mutating func endSession()
    /// Makes a sample, which may be lost on the way.
    mutating func sample(_ value: Int, at moment: Date)
    /// The number of entries kept to tell duplicates from new events.
    var bookkeeping: Int { get }
}

extension Device {
    init(_ peer: String) { self.init(peer, incarnation: 0) }
}

/// The rules of the reference library, with its faults. Events apply as they arrive, the policy skips local ones, snapshots
/// replace by revision, and ids are never forgotten.
struct ReferenceDevice: Device {
    var state: [String] = []
    private let peer: String
    private var sequence: UInt64 = 0
    private var last: [String: UInt64] = [:]
    private var seen: Set<UUID> = []
    private var revision: UInt64 = 0

    init(_ peer: String, incarnation: UInt32) { self.peer = peer }

    var bookkeeping: Int { seen.count }

    mutating func tap(_ event: String, at moment: Date) -> SessionSyncEnvelope<String> {
        sequence += 1
        state.append(event)
        let metadata = SessionSyncMetadata(
            sessionID: session, featureID: "list", sourcePeerID: peer, sequence: sequence, causalTimestamp: moment,
            payloadType: "list.event", incarnation: 0)
        seen.insert(metadata.eventID)
        return SessionSyncEnvelope(metadata: metadata, payload: event)
    }

    mutating func hear(_ envelope: SessionSyncEnvelope<String>) {
        let metadata = envelope.metadata
        guard metadata.payloadType == "list.event", metadata.sequence == last[metadata.sourcePeerID, default: 0] + 1,
            seen.insert(metadata.eventID).inserted
        else { return }
        last[metadata.sourcePeerID] = metadata.sequence
        if state.last != envelope.payload { state.append(envelope.payload) }
    }

    mutating func snapshot() -> SessionSyncSnapshot<[String]> {
        revision += 1
        let metadata = SessionSyncMetadata(
            sessionID: session, featureID: "list", sourcePeerID: peer, sequence: sequence + 1, causalTimestamp: noon,
            payloadType: "list.state")
        return SessionSyncSnapshot(metadata: metadata, revision: revision, state: state, peerSequenceVector: last)
    }

    mutating func hear(_ snapshot: SessionSyncSnapshot<[String]>) {
        guard snapshot.revision > revision else { return }
        revision = snapshot.revision
        state = snapshot.state
        last.merge(snapshot.peerSequenceVector) { max($0, $1) }
        last[snapshot.metadata.sourcePeerID] = snapshot.metadata.sequence
    }

    mutating func hearUnknown(_ metadata: SessionSyncMetadata) {}
    mutating func endSession() {}
    mutating func sample(_ value: Int, at moment: Date) { _ = tap("bpm \(value)", at: moment) }
}

/// The rules of this library.
struct MeshDevice: Device {
    var engine: ListEngine
    private var lane: EphemeralLane<Int>

    init(_ peer: String, incarnation: UInt32) {
        engine = makeEngine(peer, incarnation: incarnation)
        lane = EphemeralLane(source: engine.source)
    }

    var state: [String] { engine.state }
    var bookkeeping: Int { engine.log.current.recentEventIDs.count + engine.logCount }

    mutating func tap(_ event: String, at moment: Date) -> SessionSyncEnvelope<String> {
        try! engine.submitLocal(event, at: moment)
    }

    mutating func hear(_ envelope: SessionSyncEnvelope<String>) { _ = try? engine.receive(envelope) }
    mutating func snapshot() -> SessionSyncSnapshot<[String]> { engine.makeSnapshot(at: noon) }
    mutating func hear(_ snapshot: SessionSyncSnapshot<[String]>) { _ = try? engine.applySnapshot(snapshot) }
    mutating func hearUnknown(_ metadata: SessionSyncMetadata) {
        _ = try? engine.receiveOpaque(metadata, bytes: [1, 2, 3], codec: 1)
    }
    mutating func endSession() { engine.end() }
    mutating func sample(_ value: Int, at moment: Date) { _ = lane.record(value, for: "bpm", at: moment) }
}
