public import Foundation
import MeshBus
import MeshIdentity
public import MeshTransport
public import Observation

/// One value that is the same on every peer: the newest change wins, whole.
///
/// A change is shown here at once, travels, and is sent again whenever a peer becomes reachable; so a value that could
/// not be sent is not lost while this object lives. (It does not yet outlive the process.)
///
/// Lives on the main actor. Nothing it starts keeps it alive.
@MainActor @Observable
public final class SharedState<State: Codable & Sendable & Equatable> {
    public private(set) var value: State
    /// Why the last change has not been sent; nil once it has.
    public private(set) var lastSyncError: (any Error)?

    /// Names the state on its connection.
    @ObservationIgnored public let id: String
    @ObservationIgnored private let connection: any SessionConnection
    @ObservationIgnored private let encoder: JSONEncoder
    @ObservationIgnored private let decoder: JSONDecoder
    @ObservationIgnored private var version: SharedStateVersion?
    @ObservationIgnored private var encodedValue: Data?
    @ObservationIgnored private let listeners = OwnedTasks()
    @ObservationIgnored private let sending = OwnedTasks()
    @ObservationIgnored private var isSending = false
    @ObservationIgnored private var mustSend = false

    /// - Parameters:
    ///   - initialValue: shown until somebody changes the value; older than every change.
    ///   - id: by default the type's name with the types it is nested in, without its module.
    public init(
        initialValue: State, connection: any SessionConnection, id: String? = nil, encoder: JSONEncoder = JSONEncoder(),
        decoder: JSONDecoder = JSONDecoder()
    ) {
        value = initialValue
        self.connection = connection
        self.id = id ?? Self.defaultID
        self.encoder = encoder
        self.decoder = decoder
        listen()
    }

    /// Changes the value here and, as soon as they can be reached, on every peer. An equal value changes nothing.
    /// - Throws: what the encoder throws; the value is then unchanged.
    public func update(_ newValue: State) throws {
        guard newValue != value else { return }
        encodedValue = try encoder.encode(newValue)
        value = newValue
        version = SharedStateVersion(stamp: connection.stamp(), peerID: connection.transport.localPeer.id)
        send()
    }

    private static var defaultID: String {
        let path = String(reflecting: State.self)
        return path.firstIndex(of: ".").map { String(path[path.index(after: $0)...]) } ?? path
    }

    private var featureID: String { "sessionmesh.state/\(id)" }

    private func listen() {
        let snapshots = connection.transport.receiveSnapshots()
        let requests = connection.transport.receiveSnapshotRequests()
        let reachability = connection.transport.reachabilityChanges()
        if let kept = connection.transport.latestPeerSnapshot(featureID: featureID) { receive(kept) }
        listeners.hold([
            Task { [weak self] in for await snapshot in snapshots { self?.receive(snapshot) } },
            Task { [weak self] in for await request in requests { self?.receive(request) } },
            Task { [weak self] in for await change in reachability where change.isReachable { self?.send() } },
        ])
    }

    private func receive(_ snapshot: AnySessionSyncSnapshot) {
        let metadata = snapshot.metadata
        guard metadata.featureID == featureID, metadata.sessionID == connection.sessionID else { return }
        let received = SharedStateVersion(stamp: metadata.stamp, peerID: metadata.sourcePeerID)
        connection.observe(metadata.stamp)
        if let version, received <= version { return }
        do {
            let bytes = try snapshot.decodeState(as: SharedStateBytes.self).bytes
            let newValue = try decoder.decode(State.self, from: bytes)
            version = received
            encodedValue = bytes
            if newValue != value { value = newValue }
        } catch {
            lastSyncError = error
        }
    }

    private func receive(_ request: SessionSnapshotRequest) {
        if request.sessionID == connection.sessionID { send() }
    }

    /// Sends the newest value; changes made while a send is under way are sent together after it.
    private func send() {
        guard version != nil else { return }
        mustSend = true
        guard !isSending else { return }
        isSending = true
        sending.hold([
            Task { [weak self, transport = connection.transport] in
                while let snapshot = self?.nextToSend() {
                    do {
                        try await transport.sendSnapshot(
                            AnySessionSyncSnapshot(snapshot), mode: .latestSnapshot, to: nil)
                        self?.didSend(nil)
                    } catch {
                        self?.didSend(error)
                    }
                }
            }
        ])
    }

    private func nextToSend() -> SessionSyncSnapshot<SharedStateBytes>? {
        guard mustSend, let version, let encodedValue else {
            isSending = false
            return nil
        }
        mustSend = false
        // Whoever made the change stays its source, also when this peer passes it on.
        let metadata = SessionSyncMetadata(
            sessionID: connection.sessionID, featureID: featureID, sourcePeerID: version.peerID, sequence: 1,
            causalTimestamp: Date(timeIntervalSince1970: TimeInterval(version.stamp.milliseconds) / 1000),
            payloadType: "sessionmesh.state", stamp: version.stamp)
        return SessionSyncSnapshot(
            metadata: metadata, revision: version.stamp.rawValue, state: SharedStateBytes(bytes: encodedValue),
            peerSequenceVector: [:])
    }

    private func didSend(_ error: (any Error)?) {
        if error != nil || lastSyncError != nil { lastSyncError = error }
    }
}

/// Which change is newer: the later stamp, between equal stamps the higher peer id.
struct SharedStateVersion: Comparable {
    let stamp: HybridTimestamp
    let peerID: String

    static func < (left: Self, right: Self) -> Bool { (left.stamp, left.peerID) < (right.stamp, right.peerID) }
}

/// The value as its encoder wrote it, so that an unencodable value is found before anything changes.
struct SharedStateBytes: Codable, Sendable {
    let bytes: Data
}
