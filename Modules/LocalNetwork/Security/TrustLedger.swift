#if UDP || MQTT || WebSocket
    import MeshFoundation

    // Terms of lost devices; Docs/Internals/SecuritySpecification.md "Lost devices" has the protocol.
    // - statement: a peer's claim that another peer is lost. The reporter itself sends it to each of the user's own
    //   peers, and repeats it until they answer.
    // - number: the order of a reporter's statements. Each new statement has a higher number.
    // - report: a statement that waits for the user's decision.
    // - administrator: a peer whose statements take effect without that decision.

    /// The trusted peers, the peers that were revoked on this device, and the reports that await a decision. A value
    /// without I/O and without a clock: the core of `TrustedPeers`, and the content of its file.
    ///
    /// A paired peer may lie. It can only make this side hold up to `TrustedPeers.reportsMax` reports. A statement
    /// counts once, and only if it is about a trusted peer other than its reporter. If a peer was paired again later,
    /// an administrator's earlier statement needs the user's decision too. A wrong clock can only cause or skip that
    /// decision.
    struct TrustLedger: Equatable, Sendable {
        /// A statement of another peer that awaits the user's decision.
        struct Report: Codable, Hashable, Sendable {
            let reporter: PeerID
            let peer: PeerID
            let number: UInt64
        }

        /// The progress of statements to and from one trusted peer.
        struct Standing: Equatable, Sendable {
            /// The highest number among the peer's statements that the user has decided on, or that took effect because
            /// the peer is an administrator.
            var decidedNumber: UInt64 = 0
            /// The highest number of this side's statements that the peer has acknowledged.
            var acknowledged: UInt64 = 0
        }

        /// The highest number of a statement. A clock's seconds never reach it, and JSON readers represent it exactly.
        static let numberMax: UInt64 = 1 << 53

        var peers: [PeerID: TrustedPeer] = [:]
        /// The revoked peers, oldest first, without duplicates. None of them is trusted.
        var revoked: [RevokedPeer] = []
        /// The waiting reports, oldest first, one per reporter and peer. Both are trusted.
        var reports: [Report] = []
        /// The standings of trusted peers, except those with only zeros.
        var standings: [PeerID: Standing] = [:]
        /// The number of this side's latest statement.
        var lastNumber: UInt64 = 0
    }

    // MARK: - Decisions of the user

    extension TrustLedger {
        /// Pairs a peer, or pairs it again: earlier statements about it and by it no longer count.
        mutating func trust(_ peer: TrustedPeer) throws(SecurityError) {
            forget(peer.id)
            peers[peer.id] = peer
            revoked.removeAll { $0.id == peer.id }
            guard peers.count <= TrustedPeers.countMax else {
                throw SecurityError(.full, "\(TrustedPeers.countMax) peers are trusted; unpair one first")
            }
            guard peers.values.count(where: \.isAdministrator) <= TrustedPeers.administratorsMax else {
                throw SecurityError(
                    .full,
                    "\(TrustedPeers.administratorsMax) peers are administrators; pair this one without that right")
            }
        }

        /// - Returns: True if the peer was trusted.
        mutating func distrust(_ id: PeerID) -> Bool {
            guard peers[id] != nil else { return false }
            forget(id)
            peers[id] = nil
            return true
        }

        /// Revokes a peer and creates this side's statement about it.
        ///
        /// - Parameter date: The current time of this device. Numbers ascend even if its clock goes back.
        mutating func revoke(_ id: PeerID, at date: Date) throws(SecurityError) {
            guard peers[id] != nil else {
                throw SecurityError(.unknownPeer, "no trusted peer has the ID \(id), so it can't be revoked")
            }
            lastNumber = min(max(lastNumber + 1, date.wholeSeconds), Self.numberMax)
            recordRevocation(of: id, number: lastNumber)
        }

        /// Decides on a report.
        ///
        /// - Returns: False if the report no longer waits.
        mutating func decide(_ report: Report, isLost: Bool) -> Bool {
            guard reports.contains(report) else { return false }
            reports.removeAll { $0 == report }
            markDecided(report.number, from: report.reporter)
            if isLost { recordRevocation(of: report.peer, number: nil) }
            return true
        }

        private mutating func forget(_ id: PeerID) {
            standings[id] = nil
            reports.removeAll { $0.reporter == id || $0.peer == id }
        }

        private mutating func recordRevocation(of id: PeerID, number: UInt64?) {
            guard let name = peers[id]?.name, distrust(id) else { return }
            revoked.removeAll { $0.id == id }
            revoked.append(RevokedPeer(id: id, name: name, number: number))
            if revoked.count > TrustedPeers.revokedMax { revoked.removeFirst() }
        }

        private mutating func markDecided(_ number: UInt64, from reporter: PeerID) {
            standings[reporter, default: Standing()].decidedNumber = max(
                standings[reporter]?.decidedNumber ?? 0, number)
        }
    }

    // MARK: - Statements of other peers

    extension TrustLedger {
        /// Processes a notice from `reporter`, whose identity the connection has proven. Only the user's own devices
        /// count.
        mutating func process(_ notice: RevocationNotice, from reporter: PeerID) {
            guard let peer = peers[reporter], peer.isOwn else { return }
            // Accept only the number of an existing statement. A peer could invent other numbers endlessly, and each
            // would cause a write to the file.
            if revoked.contains(where: { $0.number == notice.answeredNumber }),
                notice.answeredNumber > standings[reporter]?.acknowledged ?? 0
            {
                standings[reporter, default: Standing()].acknowledged = notice.answeredNumber
            }
            for statement in notice.statements {
                guard let lost = peers[statement.peer], statement.peer != reporter, statement.number <= Self.numberMax,
                    statement.number > standings[reporter]?.decidedNumber ?? 0
                else { continue }
                if peer.isAdministrator, statement.number >= lost.since.wholeSeconds {
                    markDecided(statement.number, from: reporter)
                    recordRevocation(of: statement.peer, number: nil)
                } else {
                    addReport(Report(reporter: reporter, peer: statement.peer, number: statement.number))
                }
            }
        }

        /// Adds a report. If the list is full, the reporter with the most reports loses its newest, unless this
        /// report's sender would then have more. So a peer that reports everyone can't displace the others, and no
        /// peer can change the list endlessly.
        private mutating func addReport(_ report: Report) {
            guard !reports.contains(where: { $0.reporter == report.reporter && $0.peer == report.peer }) else { return }
            if reports.count >= TrustedPeers.reportsMax {
                let counts = reports.reduce(into: [PeerID: Int]()) { $0[$1.reporter, default: 0] += 1 }
                let most = counts.values.max() ?? 0
                guard most > counts[report.reporter, default: 0] + 1,
                    let newest = reports.lastIndex(where: { counts[$0.reporter] == most })
                else { return }
                reports.remove(at: newest)
            }
            reports.append(report)
        }
    }

    // MARK: - Statements of this side

    extension TrustLedger {
        /// The highest number of this side's statements that still hold; 0 if there is none.
        var newestNumber: UInt64 { revoked.compactMap(\.number).max() ?? 0 }

        /// Returns true if the peer hasn't acknowledged all statements of this side.
        func hasUnacknowledgedStatements(for id: PeerID) -> Bool {
            peers[id]?.isOwn == true && newestNumber > standings[id]?.acknowledged ?? 0
        }

        /// Returns the notice for a peer.
        ///
        /// - Parameter number: The number of the peer's notice that this one answers; 0 if it isn't an answer.
        func notice(for id: PeerID, answering number: UInt64) -> RevocationNotice {
            // A peer that isn't the user's own gets no information about the user's devices.
            let isOwn = peers[id]?.isOwn == true
            let statements = revoked.compactMap { lost in
                lost.number.map { RevocationNotice.Statement(peer: lost.id, number: $0) }
            }
            return RevocationNotice(
                statements: isOwn ? statements.sorted { $0.number < $1.number } : [], answeredNumber: number,
                wantsAnswer: hasUnacknowledgedStatements(for: id))
        }
    }

    extension Date {
        /// The seconds since 1970, from 0 to `TrustLedger.numberMax`.
        fileprivate var wholeSeconds: UInt64 {
            let seconds = timeIntervalSince1970
            return seconds > 0 ? UInt64(min(seconds, Double(TrustLedger.numberMax))) : 0
        }
    }
#endif
