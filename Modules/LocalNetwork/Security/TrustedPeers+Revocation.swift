#if UDP || MQTT || WebSocket
    import MeshBase
    package import MeshFoundation

    /// A device that is lost: revoked on one of the user's devices, and reported to the others.
    ///
    /// The transports that use the list carry the reports between peers that are paired as the user's own (`isOwn`), and keep
    /// trying until each has answered. A report names one peer, and takes effect when a person confirms it, or at once if its
    /// reporter was paired as an administrator.
    extension TrustedPeers {
        /// Maximum number of administrators among the trusted peers. `trust` throws for another one.
        public static let administratorsMax = 4
        /// Maximum number of revoked peers that are remembered. The oldest gives way: no device is told of it any more, and
        /// it counts as an unpaired one.
        public static let revokedMax = 64
        /// Maximum number of reports that wait for a person. The reporter with the most loses its newest for another's.
        public static let reportsMax = 64

        /// Revokes a peer that is lost, and reports that to the user's own devices.
        ///
        /// Here it takes effect at once: its connections end, and open sessions go on without it and take back its
        /// invitations, as do sessions that are opened later. Pairing it again in person undoes that.
        ///
        /// - Throws: `SecurityError`: `unknownPeer` if it isn't trusted, and what `init(file:)` throws. Nothing has changed
        ///   then.
        public func revoke(_ id: PeerID) throws(SecurityError) { try revoke(id, at: Date()) }

        package func revoke(_ id: PeerID, at date: Date) throws(SecurityError) {
            try change { ledger throws(SecurityError) in try ledger.revoke(id, at: date) }
        }

        /// The peers that were revoked and not paired again, the first one first. Looks at memory only.
        public var revoked: [RevokedPeer] { ledger.revoked }

        /// Whether a peer was revoked and not paired again. Looks at memory only; O(revoked peers).
        public func isRevoked(_ id: PeerID) -> Bool { ledger.revoked.contains { $0.id == id } }

        /// The reports that wait for a person, the first one first. Looks at memory only.
        public var lossReports: [LossReport] { ledger.lossReports }

        /// Returns a stream of the reports that wait: now, and after each change. Each call is a stream of its own; a slow
        /// reader sees the newest list only.
        public func lossReportChanges() -> AsyncStream<[LossReport]> { reportTopic.subscribe() }

        /// Confirms that a peer is lost: it is revoked here. Call it when a person has tapped, never without asking one.
        ///
        /// - Returns: false if the report doesn't wait any more, for example because one of the two was paired again.
        /// - Throws: `SecurityError`, as `init(file:)`. The report still waits then.
        @discardableResult
        public func confirm(_ report: LossReport) throws(SecurityError) -> Bool {
            try decide(report, isLost: true)
        }

        /// Drops a report: the peer stays trusted, and this statement of the reporter doesn't count again.
        ///
        /// - Returns: false if the report doesn't wait any more.
        /// - Throws: `SecurityError`, as `init(file:)`. The report still waits then.
        @discardableResult
        public func dismiss(_ report: LossReport) throws(SecurityError) -> Bool {
            try decide(report, isLost: false)
        }

        /// The IDs of revoked peers: now, and after each change.
        package func revokedPeers() -> AsyncStream<Set<String>> { revokedTopic.subscribe() }

        private func decide(_ report: LossReport, isLost: Bool) throws(SecurityError) -> Bool {
            var hasWaited = false
            try change { hasWaited = $0.decide(report.id.report, isLost: isLost) }
            return hasWaited
        }

        /// Takes a notice of a peer that the connection has proven. Reads the file only for a notice that changes something.
        func take(_ notice: RevocationNotice, from reporter: PeerID) throws(SecurityError) {
            let before = ledger
            var after = before
            after.take(notice, from: reporter)
            if after != before { try change { $0.take(notice, from: reporter) } }
        }
    }

    extension TrustLedger {
        var lossReports: [LossReport] {
            reports.compactMap { report in
                guard let reporter = peers[report.reporter], let peer = peers[report.peer] else { return nil }
                return LossReport(report, reporter: reporter, peer: peer)
            }
        }

        var revokedPeerIDs: Set<String> { Set(revoked.map(\.id.description)) }
    }
#endif
