#if UDP || MQTT || WebSocket
    import MeshBase
    import MeshFoundation
    import MeshIdentity
    package import MeshTransport

    /// Carries notices of lost peers between the `TrustedPeers` of a user's devices, over a transport that proves its
    /// peers' identities.
    ///
    /// It sends a notice when a peer becomes reachable and when there is a new statement, until the peer answers. An
    /// answer that can't be sent is owed until the peer is reachable, because the peer doesn't ask twice. For the same
    /// reason a received notice that can't be stored is kept and tried again. Without lost peers it sends nothing. Safe to
    /// use from any thread.
    ///
    /// Bounds: in each direction one notice of at most `RevocationNotice.bytesMax` bytes waits per peer. A newer one
    /// replaces it.
    package final class RevocationCarrier: Sendable {
        static let featureID = "sessionmesh.revocations"
        /// The scope of a feature that belongs to no session.
        static let scope = UUID(uuid: (0, 0, 0, 0, 0, 0, 0x80, 0, 0x80, 0, 0, 0, 0, 0, 0, 2))

        private struct Progress {
            /// The highest number of the peer's notices; 0 if there is none. Each notice repeats it, because a newer
            /// notice replaces an unsent one.
            var numberToAnswer: UInt64 = 0
            var isWanted = false
            var isSending = false
            /// The number of the latest notice sent to the peer.
            var sentNumber: UInt64 = 0
            var eventID: UUID?
            /// The peer's notice that couldn't be stored.
            var unstored: RevocationNotice?
        }

        private struct State {
            var reachable: [PeerID: SessionPeer] = [:]
            var progress: [PeerID: Progress] = [:]
        }

        private let trustedPeers: TrustedPeers
        private let transport: @Sendable () -> (any SessionSyncTransport)?
        private let wait: @Sendable (Duration) async throws -> Void
        private let state = Locked(State())
        private let tasks = OwnedTasks()

        /// Creates a carrier, which works until it is released or the transport closes.
        ///
        /// - Parameters:
        ///   - transport: A transport that hasn't started, and whose peer IDs are those of the peers' keys.
        ///   - current: Returns the same transport, or nil once it was released. It must hold the transport weakly.
        ///   - wait: Waits before the trusted peers' file is tried again.
        package init(
            _ trustedPeers: TrustedPeers, over transport: any SessionSyncTransport,
            current: @escaping @Sendable () -> (any SessionSyncTransport)?,
            wait: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
        ) {
            (self.trustedPeers, self.transport, self.wait) = (trustedPeers, current, wait)
            let notices = transport.envelopeBatches { $0.featureID == Self.featureID }
            let (reachability, ledgers) = (transport.reachabilityChanges(), trustedPeers.ledgerTopic.subscribe())
            tasks.hold([
                Task { [weak self] in
                    while let batch = await notices.next() { for envelope in batch { self?.receive(envelope) } }
                },
                Task { [weak self] in for await change in reachability { self?.receive(change) } },
                Task { [weak self] in for await ledger in ledgers { self?.sendNotices(for: ledger) } },
            ])
        }

        private func receive(_ envelope: AnySessionSyncEnvelope) {
            // Delivery rejects messages whose source isn't the peer that sent them, so this ID is proven.
            guard let sender = PeerID(envelope.metadata.sourcePeerID), trustedPeers.contains(sender),
                envelope.encodedByteCount ?? 0 <= 2 * RevocationNotice.bytesMax,
                let notice = (try? envelope.decodePayload(as: [UInt8].self)).flatMap({ RevocationNotice($0) })
            else { return }
            if !isProcessed(notice, from: sender) { processLater(notice, from: sender) }
        }

        /// Stores a notice and answers it. Returns false if it can't be stored.
        private func isProcessed(_ notice: RevocationNotice, from sender: PeerID) -> Bool {
            guard (try? trustedPeers.process(notice, from: sender)) != nil else { return false }
            if notice.wantsAnswer { send(to: sender, answering: notice.number) }
            return true
        }

        private func processLater(_ notice: RevocationNotice, from sender: PeerID) {
            let isFirst = state.withLock { state in
                let isFirst = state.progress[sender]?.unstored == nil
                state.progress[sender, default: Progress()].unstored = notice
                return isFirst
            }
            guard isFirst else { return }
            Task { [weak self, wait] in
                var backoff = Backoff(from: .seconds(1), to: .seconds(300))
                while (try? await wait(backoff.next())) != nil, self?.hasUnstored(from: sender) == true {}
            }
        }

        /// Tries the peer's waiting notice again. Returns true if it must wait on.
        private func hasUnstored(from sender: PeerID) -> Bool {
            guard let notice = state.withLock({ $0.progress[sender]?.unstored }) else { return false }
            guard !trustedPeers.contains(sender) || isProcessed(notice, from: sender) else { return true }
            return state.withLock { state in
                // A newer one may have come meanwhile.
                if state.progress[sender]?.unstored == notice { state.progress[sender]?.unstored = nil }
                return state.progress[sender]?.unstored != nil
            }
        }

        private func receive(_ change: SessionPeerReachability) {
            guard let peer = change.peer, let id = PeerID(peer.id) else { return }
            let isOwed = state.withLock { state in
                state.reachable[id] = change.isReachable ? peer : nil
                // A notice may arrive before the news that its sender is reachable.
                let isOwed = state.progress[id].map { $0.isWanted || $0.isSending } ?? false
                if !change.isReachable, !isOwed, state.progress[id]?.unstored == nil { state.progress[id] = nil }
                return isOwed
            }
            guard change.isReachable else { return }
            if isOwed || trustedPeers.ledger.hasUnacknowledgedStatements(for: id) { send(to: id) }
        }

        private func sendNotices(for ledger: TrustLedger) {
            let number = ledger.newestNumber
            let ids = state.withLock { state in
                state.reachable.keys.filter { state.progress[$0]?.sentNumber ?? 0 < number }
            }
            for id in ids.sorted() where ledger.hasUnacknowledgedStatements(for: id) { send(to: id) }
        }

        private func send(to id: PeerID, answering number: UInt64 = 0) {
            let isFirst = state.withLock { state in
                var progress = state.progress[id, default: Progress()]
                defer { state.progress[id] = progress }
                progress.numberToAnswer = max(progress.numberToAnswer, number)
                progress.isWanted = true
                guard !progress.isSending else { return false }
                progress.isSending = true
                return true
            }
            if isFirst { Task { await sendWanted(to: id) } }
        }

        /// Sends notices until no newer one is requested. Waits while the peer is slow.
        private func sendWanted(to id: PeerID) async {
            while let (notice, peer, earlier) = nextNotice(for: id), let transport = transport() {
                if let earlier { transport.cancel(eventID: earlier, featureID: Self.featureID) }
                let metadata = SessionSyncMetadata(
                    sessionID: Self.scope, featureID: Self.featureID, sourcePeerID: transport.localPeer.id, sequence: 0,
                    causalTimestamp: Date(), payloadType: "notice")
                state.withLock { $0.progress[id]?.eventID = metadata.eventID }
                let envelope = SessionSyncEnvelope(metadata: metadata, payload: notice.bytes)
                do {
                    try await transport.send(AnySessionSyncEnvelope(envelope), mode: .reliableEventually, to: peer)
                } catch {
                    guard keepWanted(id) else { return }
                }
            }
        }

        /// Notes that a notice couldn't be sent. Returns true if another one has been requested since.
        private func keepWanted(_ id: PeerID) -> Bool {
            state.withLock { state in
                guard var progress = state.progress[id] else { return false }
                progress.isSending = progress.isWanted
                progress.isWanted = true
                state.progress[id] = progress
                return progress.isSending
            }
        }

        private func nextNotice(for id: PeerID) -> (RevocationNotice, SessionPeer, earlier: UUID?)? {
            let ledger = trustedPeers.ledger
            return state.withLock { state in
                guard ledger.peers[id] != nil else {
                    state.progress[id] = nil
                    return nil
                }
                guard let peer = state.reachable[id], state.progress[id]?.isWanted == true else {
                    state.progress[id]?.isSending = false
                    return nil
                }
                let notice = ledger.notice(for: id, answering: state.progress[id]?.numberToAnswer ?? 0)
                state.progress[id]?.isWanted = false
                state.progress[id]?.sentNumber = notice.number
                return (notice, peer, state.progress[id]?.eventID)
            }
        }
    }
#endif
