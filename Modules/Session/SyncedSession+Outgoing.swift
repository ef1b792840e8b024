import Foundation
import MeshBus
import MeshEngine
import MeshIdentity
import MeshTransport

/// What waits to be sent, in order. A snapshot is made when its turn comes, so that it is never older than what was
/// sent before it.
struct OutgoingQueue {
    enum Message {
        case envelope(AnySessionSyncEnvelope)
        case snapshotRequest
        /// nil is every peer.
        case snapshot(to: SessionPeer?)
    }

    var messages: [Message] = []
    var isDraining = false
}

extension SyncedSession {
    func enqueue(_ message: OutgoingQueue.Message) {
        outgoing.messages.append(message)
        startDraining()
    }

    /// Sends the state to everybody after what waits already; once, however often it is asked for.
    func publishSnapshot() {
        outgoing.messages.removeAll { if case .snapshot(to: nil) = $0 { true } else { false } }
        enqueue(.snapshot(to: nil))
    }

    func answer(_ peer: SessionPeer?) {
        guard let peer else { return publishSnapshot() }
        let isWaiting = outgoing.messages.contains { message in
            if case .snapshot(let receiver) = message { receiver == nil || receiver == peer } else { false }
        }
        if !isWaiting { enqueue(.snapshot(to: peer)) }
    }

    /// Asks the peers for their state, at most once in `requestInterval`; what is asked sooner is asked when that is
    /// over. The answer under way may be older than what is missing now, and no later event may come to show the gap.
    func requestSnapshot() {
        let now = configuration.now()
        let sinceLast = lastRequestAt.map { now.timeIntervalSince($0) } ?? .infinity
        let remaining = configuration.requestInterval.seconds - sinceLast
        guard sinceLast >= 0, remaining > 0 else { return sendRequest() }
        guard !isRequestOwed else { return }
        isRequestOwed = true
        owedRequest.hold([
            Task { [weak self, wait = configuration.wait] in
                try? await wait(.seconds(remaining))
                if !Task.isCancelled, let self, self.isRequestOwed { self.sendRequest() }
            }
        ])
    }

    private func sendRequest() {
        owedRequest.cancel()
        isRequestOwed = false
        lastRequestAt = configuration.now()
        enqueue(.snapshotRequest)
    }

    /// Returns when everything that waits has been handed to the transport.
    func drained() async {
        while phase == .running, outgoing.isDraining { await drain.finished() }
    }

    func startDraining() {
        guard phase == .running, !outgoing.isDraining else { return }
        outgoing.isDraining = true
        drain.hold([
            Task { [weak self] in
                while let self, let message = self.nextOutgoing() { await self.send(message) }
            }
        ])
    }

    private func nextOutgoing() -> OutgoingQueue.Message? {
        guard phase == .running, !Task.isCancelled else { return nil }
        guard !outgoing.messages.isEmpty else {
            outgoing.isDraining = false
            return nil
        }
        return outgoing.messages.removeFirst()
    }

    private func send(_ message: OutgoingQueue.Message) async {
        do {
            try await waitingForRoom { try await transmit(message) }
            if lastSendError != nil { lastSendError = nil }
        } catch {
            // The state travels again with the next snapshot: on request, or when a peer becomes reachable.
            statistics.sendFailures += 1
            lastSendError = error
        }
    }

    private func transmit(_ message: OutgoingQueue.Message) async throws {
        switch message {
        case .envelope(let envelope):
            try await transport.send(envelope, mode: configuration.eventDelivery, to: nil)
        case .snapshotRequest:
            try await transport.requestSnapshot(sessionID: sessionID, from: nil)
            statistics.snapshotRequestsSent += 1
        case .snapshot(let peer):
            let snapshot = engine.makeSnapshot(at: configuration.now())
            try await transport.sendSnapshot(AnySessionSyncSnapshot(snapshot), mode: .latestSnapshot, to: peer)
            statistics.snapshotsSent += 1
        }
    }

    /// Tries again for a while when the transport's queue is full, so that a burst is slowed down and not dropped.
    private func waitingForRoom(_ send: () async throws -> Void) async throws {
        for _ in 0..<Self.queueFullRetriesMax where phase == .running {
            do {
                return try await send()
            } catch SessionSyncError.queueFull {
                try await configuration.wait(.milliseconds(5))
            }
        }
        try await send()
    }

    /// Two seconds: a queue that stays full for longer belongs to a peer that has stopped reading.
    private static var queueFullRetriesMax: Int { 400 }
}

extension Duration {
    var seconds: TimeInterval {
        TimeInterval(components.seconds) + TimeInterval(components.attoseconds) / 1e18
    }
}
