import Foundation
import MeshConnection
import MeshIdentity
import MeshRegister
import MeshTransport

@testable import MeshSharedState

/// A paired peer that sends arbitrary messages.
@MainActor
final class StateLiar {
    let transport: any SessionSyncTransport
    var featureID: String
    private var revision: UInt64 = 1

    init(transport: any SessionSyncTransport, featureID: String = "sessionmesh.state/Settings") {
        self.transport = transport
        self.featureID = featureID
    }

    /// - Parameter peer: the only receiver, or nil to send to all.
    func say(_ message: StateMessage, stamp: UInt64 = 0, to peer: SessionPeer? = nil) async throws {
        revision += 1
        let metadata = SessionSyncMetadata(
            sessionID: TransportConnection.sharedScope, featureID: featureID, sourcePeerID: transport.localPeer.id,
            sequence: revision, causalTimestamp: Date(timeIntervalSince1970: 0),
            payloadType: StateMessage.payloadType, stamp: HybridTimestamp(rawValue: stamp))
        try await transport.sendSnapshot(
            AnySessionSyncSnapshot(
                SessionSyncSnapshot(metadata: metadata, revision: revision, state: message, peerSequenceVector: [:])),
            mode: .latestSnapshot, to: peer)
    }
}

extension StateVersion {
    init(_ stamp: UInt64, _ author: String) { self.init(stamp: HybridTimestamp(rawValue: stamp), author: author) }
}

extension StateVector {
    init(_ stamps: [String: UInt64]) {
        self.init()
        for (author, stamp) in stamps { note(StateVersion(stamp, author)) }
    }
}

extension StateMessage.Item {
    init(_ name: String, _ stamp: UInt64, _ author: String, _ json: String?) {
        self.init(
            name: name, entry: StateEntry(version: StateVersion(stamp, author), bytes: json.map { Data($0.utf8) }))
    }
}

extension SharedState {
    /// The peers that haven't confirmed the local value, without the liar.
    @MainActor var honestPending: [String] { pendingPeerIDs.filter { $0 != "liar" } }
}
