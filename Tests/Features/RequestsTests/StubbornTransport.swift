import Foundation
import MeshBase
import MeshIdentity
import MeshScenarioTransport
import MeshTransport

/// A transport whose sends can be made to wait or fail, and which may report false reachability.
final class StubbornTransport: TransportWrapper {
    private struct State {
        var errors: [any Error] = []
        var sendCount = 0
        /// The waiting sends, or nil if sends pass.
        var held: [CheckedContinuation<Void, Never>]?
    }

    let wrapped: any SessionSyncTransport
    private let state = Locked(State())
    private let claims = TransportInbox()
    private let isLying: Bool

    /// - Parameter isLying: true to report only the reachability that `claim` sets.
    init(_ wrapped: any SessionSyncTransport, isLying: Bool = false) {
        self.wrapped = wrapped
        self.isLying = isLying
    }

    /// Makes the next sends throw these errors, one each.
    func fail(with errors: [any Error]) { state.withLock { $0.errors = errors } }
    /// Makes the next sends wait, even when they are canceled.
    func hold() { state.withLock { $0.held = [] } }
    func letGo() {
        let held = state.withLock { state in
            defer { state.held = nil }
            return state.held ?? []
        }
        for send in held { send.resume() }
    }
    func claim(_ isReachable: Bool, _ peer: SessionPeer) {
        claims.deliver(SessionPeerReachability(isReachable, peer: peer))
    }
    /// The number of attempted sends.
    var sendCount: Int { state.withLock { $0.sendCount } }

    private func check() async throws {
        let error = state.withLock { state in
            state.sendCount += 1
            return state.errors.isEmpty ? nil : state.errors.removeFirst()
        }
        if let error { throw error }
        await withCheckedContinuation { send in
            let passes = state.withLock { state in
                state.held?.append(send)
                return state.held == nil
            }
            if passes { send.resume() }
        }
    }

    func send(_ envelope: AnySessionSyncEnvelope, mode: SessionDeliveryMode, to peer: SessionPeer?) async throws {
        try await check()
        try await wrapped.send(envelope, mode: mode, to: peer)
    }

    func send(
        _ envelopes: [AnySessionSyncEnvelope], mode: SessionDeliveryMode, to peer: SessionPeer?,
        isolation: isolated (any Actor)?
    ) async throws {
        for envelope in envelopes { try await send(envelope, mode: mode, to: peer) }
    }

    func sendSnapshot(_ snapshot: AnySessionSyncSnapshot, mode: SessionDeliveryMode, to peer: SessionPeer?) async throws
    {
        try await check()
        try await wrapped.sendSnapshot(snapshot, mode: mode, to: peer)
    }

    func reachabilityChanges() -> AsyncStream<SessionPeerReachability> {
        isLying ? claims.reachabilityChanges() : wrapped.reachabilityChanges()
    }
}
