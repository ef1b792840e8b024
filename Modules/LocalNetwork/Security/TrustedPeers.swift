#if UDP || MQTT || WebSocket
    import MeshBase

    /// The list of peers that are paired with this one. All other peers are refused.
    ///
    /// Safe to use from any thread. A list in a file is shared with other processes of the same user. `trust` and
    /// `distrust` change the file's current content, and `reload` reads changes of other processes. Calls that write
    /// block during disk access.
    public final class TrustedPeers: Sendable {
        /// Maximum number of trusted peers. Every connection is compared with each of them.
        public static let countMax = 256

        private let file: PrivateFile?
        /// The lock that is held while the file is read and written. Queries about trust don't wait for it.
        private let changing = Locked(())
        private let known: Locked<TrustLedger>
        private let topic = Topic<[TrustedPeer]>(bufferLimit: 1, overflow: .dropOldest, replaysLatest: true)
        let reportTopic = Topic<[LossReport]>(bufferLimit: 1, overflow: .dropOldest, replaysLatest: true)
        let revokedTopic = Topic<Set<String>>(bufferLimit: 1, overflow: .dropOldest, replaysLatest: true)
        let ledgerTopic = Topic<TrustLedger>(bufferLimit: 1, overflow: .dropOldest, replaysLatest: true)

        /// Creates a list that lives only in memory.
        public init() {
            file = nil
            known = Locked(TrustLedger())
            publish(TrustLedger(), since: nil).complete()
        }

        /// Opens the list in a file. The first trusted peer creates the file, with mode 0600.
        /// - Throws: `SecurityError`: `notPrivate`, `damaged`, `newerVersion`, `missing`, `invalidArgument`,
        ///   `systemCallFailed`. The file isn't changed.
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

        /// All trusted peers, the earliest paired first.
        public var peers: [TrustedPeer] { ledger.sortedPeers }

        /// Returns the peer with that ID if it is trusted. Reads only memory; O(1).
        public subscript(id: PeerID) -> TrustedPeer? { known.withLock { $0.peers[id] } }

        /// Returns true if the peer is trusted. Reads only memory; O(1).
        public func contains(_ id: PeerID) -> Bool { self[id] != nil }

        /// Returns true if the peer was paired as a device of this user. Reads only memory; O(1).
        public func isOwn(_ peerID: String) -> Bool { PeerID(peerID).flatMap { self[$0] }?.isOwn ?? false }

        /// Trusts a peer, replacing its earlier entry. It is no longer revoked, and reports of it or by it are dropped.
        /// - Throws: `SecurityError`: `full` beyond `countMax`, or beyond `administratorsMax` for an administrator, and
        ///   the errors of `init(file:)`. Nothing has changed then.
        public func trust(_ peer: TrustedPeer) throws(SecurityError) {
            try change { ledger throws(SecurityError) in try ledger.trust(peer) }
        }

        /// Stops trusting a peer on this device. A link to that peer learns of it from `changes`. For a lost device use
        /// `revoke`, which also informs your other devices.
        /// - Returns: True if the peer was trusted.
        /// - Throws: `SecurityError`, like `init(file:)`. The peer is still trusted then.
        @discardableResult
        public func distrust(_ id: PeerID) throws(SecurityError) -> Bool {
            var wasTrusted = false
            try change { wasTrusted = $0.distrust(id) }
            return wasTrusted
        }

        /// Reads the file again, in case another process has written it. If the file is gone, no peer is trusted.
        /// - Returns: True if anything has changed.
        /// - Throws: `SecurityError`, like `init(file:)`. The list is unchanged then.
        @discardableResult
        public func reload() throws(SecurityError) -> Bool {
            guard let file else { return false }
            return try update { _ throws(SecurityError) in try Self.read(file) }
        }

        /// Returns a stream of the trusted peers: now and after each change. Each call creates a separate stream. A
        /// slow reader gets only the newest list.
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

        /// - Returns: True if anything has changed and was published.
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
                    // Publish in the order of the changes, but wake waiting subscribers after the lock is released.
                    return .success(publish(after, since: before))
                } catch {
                    return .failure(error)
                }
            }
            let handover = try outcome.get()
            handover?.complete()
            return handover != nil
        }

        /// Enqueues the parts that have changed for their subscribers.
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
