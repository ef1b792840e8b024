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
        /// Held while the file is read and written. Whoever asks who is trusted does not wait for it.
        private let changing = Locked(())
        private let known: Locked<[PeerID: TrustedPeer]>
        private let topic = Topic<[TrustedPeer]>(bufferLimit: 1, overflow: .dropOldest, replaysLatest: true)

        /// A list that lives in memory only.
        public init() {
            file = nil
            known = Locked([:])
            topic.publish([])
        }

        /// The list in that file, which is created with mode 0600 for the first trusted peer.
        /// - Throws: `SecurityError`: `notPrivate`, `damaged`, `newerVersion`, `missing`, `invalidArgument`,
        ///   `systemCallFailed`. The file stays as it is.
        public init(file path: String) throws(SecurityError) {
            let file = try PrivateFile(path)
            self.file = file
            let peers = try Self.read(file)
            known = Locked(peers)
            topic.publish(Self.sorted(peers))
        }

        deinit { topic.finish() }

        /// Everybody, the longest trusted first.
        public var peers: [TrustedPeer] { Self.sorted(known.withLock { $0 }) }

        /// The peer of that id, if it is trusted. Looks at memory only; O(1).
        public subscript(id: PeerID) -> TrustedPeer? { known.withLock { $0[id] } }

        /// Whether that peer may come in. Looks at memory only; O(1).
        public func contains(_ id: PeerID) -> Bool { self[id] != nil }

        /// Whether the peer of that id was paired as a device of this user. Looks at memory only; O(1).
        public func isOwn(_ peerID: String) -> Bool { PeerID(peerID).flatMap { self[$0] }?.isOwn ?? false }

        /// Lets that peer in from now on; in the place of what was known of it.
        /// - Throws: `SecurityError`: `full` beyond `countMax`, and what `init(file:)` throws. Nothing has changed then.
        public func trust(_ peer: TrustedPeer) throws(SecurityError) {
            try change { peers throws(SecurityError) in
                peers[peer.id] = peer
                guard peers.count <= Self.countMax else {
                    throw SecurityError(.full, "\(Self.countMax) peers are trusted; unpair one first")
                }
            }
        }

        /// Stops trusting a peer. A link that is connected to it learns of this by `changes`.
        /// - Returns: whether it was trusted.
        /// - Throws: `SecurityError`, as `init(file:)`. The peer is still trusted then.
        @discardableResult
        public func distrust(_ id: PeerID) throws(SecurityError) -> Bool {
            var wasTrusted = false
            try change { peers in wasTrusted = peers.removeValue(forKey: id) != nil }
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
        private func change(_ body: (inout [PeerID: TrustedPeer]) throws(SecurityError) -> Void) throws(SecurityError) {
            try update { known throws(SecurityError) in
                guard let file else {
                    var peers = known
                    try body(&peers)
                    return peers
                }
                return try file.withLock { () throws(SecurityError) in
                    let stored = try Self.read(file)
                    var peers = stored
                    try body(&peers)
                    if peers != stored { try file.replace(TrustedPeersLayout.encode(Self.sorted(peers))) }
                    return peers
                }
            }
        }

        /// - Returns: whether anything is different now; subscribers have it then.
        @discardableResult
        private func update(
            _ body: ([PeerID: TrustedPeer]) throws(SecurityError) -> [PeerID: TrustedPeer]
        ) throws(SecurityError) -> Bool {
            let outcome = changing.withLock { _ -> Result<TopicHandover?, SecurityError> in
                let before = known.withLock { $0 }
                do throws(SecurityError) {
                    let peers = try body(before)
                    guard peers != before else { return .success(nil) }
                    known.withLock { $0 = peers }
                    // In the order of the changes; who waits is woken once the lock is free.
                    return .success(topic.enqueue(Self.sorted(peers)))
                } catch {
                    return .failure(error)
                }
            }
            let handover = try outcome.get()
            handover?.complete()
            return handover != nil
        }

        private static func read(_ file: PrivateFile) throws(SecurityError) -> [PeerID: TrustedPeer] {
            guard let bytes = try file.read(bytesMax: TrustedPeersLayout.bytesMax) else { return [:] }
            let peers = try TrustedPeersLayout.decode(bytes, from: file.path)
            return Dictionary(peers.map { ($0.id, $0) }) { first, _ in first }
        }

        private static func sorted(_ peers: [PeerID: TrustedPeer]) -> [TrustedPeer] {
            peers.values.sorted { ($0.since, $0.id) < ($1.since, $1.id) }
        }
    }
#endif
