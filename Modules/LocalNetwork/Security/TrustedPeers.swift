#if UDP || MQTT || WebSocket
    import MeshBase

    /// The peers that this one has been paired with. It refuses all others.
    ///
    /// Safe to use from any thread. In a file, it is shared with other processes of the same user: `trust` and `distrust`
    /// change what the file says at that moment, and `reload` takes over what another process has written. Calls that
    /// write block while the disk works.
    public final class TrustedPeers: Sendable {
        /// Maximum number of trusted peers. Every connection is compared with each of them.
        public static let countMax = 256

        private let file: PrivateFile?
        /// Held while the file is read and written. Questions about trust don't wait for it.
        private let changing = Locked(())
        private let known: Locked<TrustLedger>
        private let topic = Topic<[TrustedPeer]>(bufferLimit: 1, overflow: .dropOldest, replaysLatest: true)
        let reportTopic = Topic<[LossReport]>(bufferLimit: 1, overflow: .dropOldest, replaysLatest: true)
        let revokedTopic = Topic<Set<String>>(bufferLimit: 1, overflow: .dropOldest, replaysLatest: true)
        let ledgerTopic = Topic<TrustLedger>(bufferLimit: 1, overflow: .dropOldest, replaysLatest: true)

        /// A list that lives in memory only.
        public init() {
            file = nil
            known = Locked(TrustLedger())
            publish(TrustLedger(), since: nil).complete()
        }

        /// The list in that file, which is created with mode 0600 for the first trusted peer.
        /// - Throws: `SecurityError`: `notPrivate`, `damaged`, `newerVersion`, `missing`, `invalidArgument`,
        ///   `systemCallFailed`. The file stays as it is.
        public init(file path: String) throws(SecurityError) {
            let file = try PrivateFile(path)
            self.file = file
            let ledger = try Self.read(file)
            known = Locked(ledger)
            publish(ledger, since: nil).complete()
        }

        deinit {
            topic.finish()
            reportTopic.finish()
            revokedTopic.finish()
            ledgerTopic.finish()
        }

        var ledger: TrustLedger { known.withLock { $0 } }

        /// Everybody, the longest trusted first.
        public var peers: [TrustedPeer] { ledger.sortedPeers }

        /// The peer of that id, if it is trusted. Looks at memory only; O(1).
        public subscript(id: PeerID) -> TrustedPeer? { known.withLock { $0.peers[id] } }

        /// Whether that peer may come in. Looks at memory only; O(1).
        public func contains(_ id: PeerID) -> Bool { self[id] != nil }

        /// Whether the peer of that id was paired as a device of this user. Looks at memory only; O(1).
        public func isOwn(_ peerID: String) -> Bool { PeerID(peerID).flatMap { self[$0] }?.isOwn ?? false }

        /// Lets that peer in from now on; in the place of what was known of it. It isn't revoked any more, and reports of it or
        /// by it are dropped.
        /// - Throws: `SecurityError`: `full` beyond `countMax` or for an administrator beyond `administratorsMax`, and what
        ///   `init(file:)` throws. Nothing has changed then.
        public func trust(_ peer: TrustedPeer) throws(SecurityError) {
            try change { ledger throws(SecurityError) in try ledger.trust(peer) }
        }

        /// Stops trusting a peer on this device. A link that is connected to it learns of this by `changes`. Of a lost device the
        /// others should know too: see `revoke`.
        /// - Returns: whether it was trusted.
        /// - Throws: `SecurityError`, as `init(file:)`. The peer is still trusted then.
        @discardableResult
        public func distrust(_ id: PeerID) throws(SecurityError) -> Bool {
            var wasTrusted = false
            try change { wasTrusted = $0.distrust(id) }
            return wasTrusted
        }

        /// Reads the file again, which another process may have written. If the file is gone, no peer is trusted.
        /// - Returns: whether anything is different now.
        /// - Throws: `SecurityError`, as `init(file:)`. What was known stays then.
        @discardableResult
        public func reload() throws(SecurityError) -> Bool {
            guard let file else { return false }
            return try update { _ throws(SecurityError) in try Self.read(file) }
        }

        /// Everybody who is trusted, now and after each change. Each call is a stream of its own; who is slow sees the newest
        /// list only.
        public func changes() -> AsyncStream<[TrustedPeer]> { topic.subscribe() }
    }

    extension TrustedPeers {
        func change(_ body: (inout TrustLedger) throws(SecurityError) -> Void) throws(SecurityError) {
            try update { known throws(SecurityError) in
                guard let file else {
                    var ledger = known
                    try body(&ledger)
                    return ledger
                }
                return try file.withLock { () throws(SecurityError) in
                    let stored = try Self.read(file)
                    var ledger = stored
                    try body(&ledger)
                    if ledger != stored { try file.replace(TrustedPeersLayout.encode(ledger)) }
                    return ledger
                }
            }
        }

        /// - Returns: whether anything is different now; subscribers have it then.
        @discardableResult
        private func update(
            _ body: (TrustLedger) throws(SecurityError) -> TrustLedger
        ) throws(SecurityError) -> Bool {
            let outcome = changing.withLock { _ -> Result<TopicHandover?, SecurityError> in
                let before = ledger
                do throws(SecurityError) {
                    let after = try body(before)
                    guard after != before else { return .success(nil) }
                    known.withLock { $0 = after }
                    // In the order of the changes; who waits is woken once the lock is free.
                    return .success(publish(after, since: before))
                } catch {
                    return .failure(error)
                }
            }
            let handover = try outcome.get()
            handover?.complete()
            return handover != nil
        }

        /// Hands each subscriber what has changed for it.
        private func publish(_ after: TrustLedger, since before: TrustLedger?) -> TopicHandover {
            var handover = ledgerTopic.enqueue(after)
            if after.peers != before?.peers { handover.merge(topic.enqueue(after.sortedPeers)) }
            if after.lossReports != before?.lossReports { handover.merge(reportTopic.enqueue(after.lossReports)) }
            if after.revokedPeerIDs != before?.revokedPeerIDs {
                handover.merge(revokedTopic.enqueue(after.revokedPeerIDs))
            }
            return handover
        }

        private static func read(_ file: PrivateFile) throws(SecurityError) -> TrustLedger {
            guard let bytes = try file.read(bytesMax: TrustedPeersLayout.bytesMax) else { return TrustLedger() }
            return try TrustedPeersLayout.decode(bytes, from: file.path)
        }
    }

    extension TrustLedger {
        var sortedPeers: [TrustedPeer] { peers.values.sorted { ($0.since, $0.id) < ($1.since, $1.id) } }
    }
#endif
