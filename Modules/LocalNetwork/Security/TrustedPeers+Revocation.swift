#if UDP || MQTT || WebSocket
    import MeshBase
    package import MeshFoundation

    /// Support for lost devices. You revoke the lost device on one of your other devices, which reports that to the
    /// rest.
    ///
    /// The transports that use the list carry the reports between peers paired as the user's own (`isOwn`). They keep
    /// trying until each peer has answered. A report names one peer. It takes effect when a user confirms it, or at
    /// once if its reporter was paired as an administrator.
    extension TrustedPeers {
        /// Maximum number of administrators among the trusted peers. `trust` throws for a further one.
        public static let administratorsMax = 4
        /// Maximum number of revoked peers that are remembered. Beyond it the oldest is forgotten: it counts as
        /// unpaired, and no further device is informed.
        public static let revokedMax = 64
        /// Maximum number of reports that wait for a decision. Beyond it, the reporter with the most may lose its
        /// newest report to another reporter's.
        public static let reportsMax = 64

        /// Revokes a lost peer and reports that to the user's own devices.
        ///
        /// On this device it takes effect at once. The peer's connections end. Open sessions, and those opened later,
        /// continue without it and withdraw its invitations. Pairing it again in person undoes that.
        ///
        /// - Throws: `SecurityError`: `unknownPeer` if the peer isn't trusted, and the errors of `init(file:)`. Nothing
        ///   has changed then.
        public func revoke(_ id: PeerID) throws(SecurityError) { try revoke(id, at: Date()) }

        package func revoke(_ id: PeerID, at date: Date) throws(SecurityError) {
            try change { ledger throws(SecurityError) in try ledger.revoke(id, at: date) }
        }

        /// The peers that were revoked and not paired again, oldest first. Reads only memory.
        public var revoked: [RevokedPeer] { ledger.revoked }

        /// Returns true if the peer was revoked and not paired again. Reads only memory; O(revoked peers).
        public func isRevoked(_ id: PeerID) -> Bool { ledger.revoked.contains { $0.id == id } }

        /// The reports that wait for a decision, oldest first. Reads only memory.
        public var lossReports: [LossReport] { ledger.lossReports }

        /// Returns a stream of the waiting reports: now and after each change. Each call creates a separate stream. A
        /// slow reader gets only the newest list.
        public func lossReportChanges() -> AsyncStream<[LossReport]> { reportTopic.subscribe() }

        /// Confirms that a peer is lost, and revokes it here. Call it only after the user has decided.
        ///
        /// - Returns: False if the report no longer waits, for example because one of the two peers was paired again.
        /// - Throws: `SecurityError`, like `init(file:)`. The report still waits then.
        @discardableResult
        public func confirm(_ report: LossReport) throws(SecurityError) -> Bool {
            try decide(report, isLost: true)
        }

        /// Drops a report of a lost peer. The peer stays trusted, and the reporter's statement doesn't count again.
        ///
        /// - Returns: False if the report no longer waits.
        /// - Throws: `SecurityError`, like `init(file:)`. The report still waits then.
        @discardableResult
        public func dismiss(_ report: LossReport) throws(SecurityError) -> Bool {
            try decide(report, isLost: false)
        }

        /// Returns a stream of the revoked peers' IDs: now and after each change.
        package func revokedPeers() -> AsyncStream<Set<String>> { revokedTopic.subscribe() }

        private func decide(_ report: LossReport, isLost: Bool) throws(SecurityError) -> Bool {
            var hasWaited = false
            try change { hasWaited = $0.decide(report.id.report, isLost: isLost) }
            return hasWaited
        }

        /// Processes a notice from a proven peer. Reads the file only if the notice changes something.
        func process(_ notice: RevocationNotice, from reporter: PeerID) throws(SecurityError) {
            let before = ledger
            var after = before
            after.process(notice, from: reporter)
            if after != before { try change { $0.process(notice, from: reporter) } }
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
