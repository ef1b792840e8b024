#if UDP || MQTT || WebSocket
    import MeshFoundation

    /// The trusted peers, the peers that were revoked here, and reports that wait for a person. A value without I/O and without
    /// a clock: the core of `TrustedPeers`, and what its file holds.
    ///
    /// Terms: a *statement* says that a peer is lost. It has a *number*, greater than every earlier one of its reporter. Only the
    /// reporter itself tells a statement, to each peer that is the user's own, until that peer answers.
    ///
    /// A paired peer may lie. It can make this side hold `TrustedPeers.reportsMax` reports and nothing else: a statement counts
    /// only for a trusted peer other than its reporter, and once. After a peer was paired again, an earlier statement of an
    /// administrator needs a tap too. A wrong clock can at worst ask for that tap, or spare it.
    struct TrustLedger: Equatable, Sendable {
        /// A statement of another peer, which waits for a person.
        struct Report: Codable, Hashable, Sendable {
            let reporter: PeerID
            let peer: PeerID
            let number: UInt64
        }

        /// Progress with one trusted peer.
        struct Standing: Equatable, Sendable {
            /// The greatest number of its statements on which a person or an administrator's right has decided.
            var heard: UInt64 = 0
            /// The greatest number of this side's statements that it has taken.
            var acknowledged: UInt64 = 0
        }

        /// Rejects larger numbers: seconds never get so far, and JSON readers keep such numbers exact.
        static let numberMax: UInt64 = 1 << 53

        var peers: [PeerID: TrustedPeer] = [:]
        /// Oldest first, each peer once; none of them is trusted.
        var revoked: [RevokedPeer] = []
        /// Oldest first, each reporter and peer once; both are trusted.
        var reports: [Report] = []
        /// Entries that aren't zero, of trusted peers.
        var standings: [PeerID: Standing] = [:]
        /// The number of this side's last statement.
        var lastNumber: UInt64 = 0
    }

    // MARK: - Decisions of the user

    extension TrustLedger {
        /// Pairs a peer, or pairs it again: earlier statements about it and by it don't count any more.
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

        /// - Returns: whether it was trusted.
        mutating func distrust(_ id: PeerID) -> Bool {
            guard peers[id] != nil else { return false }
            forget(id)
            peers[id] = nil
            return true
        }

        /// Makes a statement of this side.
        ///
        /// - Parameter date: the time by this device's clock. Earlier statements keep smaller numbers, even if it went back.
        mutating func revoke(_ id: PeerID, at date: Date) throws(SecurityError) {
            guard peers[id] != nil else {
                throw SecurityError(.unknownPeer, "no trusted peer has the ID \(id), so it can't be revoked")
            }
            lastNumber = min(max(lastNumber + 1, date.wholeSeconds), Self.numberMax)
            end(id, number: lastNumber)
        }

        /// Decides on a report.
        ///
        /// - Returns: false if it doesn't wait any more.
        mutating func decide(_ report: Report, isLost: Bool) -> Bool {
            guard reports.contains(report) else { return false }
            reports.removeAll { $0 == report }
            hear(report.number, from: report.reporter)
            if isLost { end(report.peer, number: nil) }
            return true
        }

        private mutating func forget(_ id: PeerID) {
            standings[id] = nil
            reports.removeAll { $0.reporter == id || $0.peer == id }
        }

        private mutating func end(_ id: PeerID, number: UInt64?) {
            guard let name = peers[id]?.name, distrust(id) else { return }
            revoked.removeAll { $0.id == id }
            revoked.append(RevokedPeer(id: id, name: name, number: number))
            if revoked.count > TrustedPeers.revokedMax { revoked.removeFirst() }
        }

        private mutating func hear(_ number: UInt64, from reporter: PeerID) {
            standings[reporter, default: Standing()].heard = max(standings[reporter]?.heard ?? 0, number)
        }
    }

    // MARK: - Statements of other peers

    extension TrustLedger {
        /// Takes what a peer says, which the connection has proven to be `reporter`. Only the user's own devices count.
        mutating func take(_ notice: RevocationNotice, from reporter: PeerID) {
            guard let peer = peers[reporter], peer.isOwn else { return }
            // Any other number would be a lie, and could have the file written again and again.
            if revoked.contains(where: { $0.number == notice.taken }),
                notice.taken > standings[reporter]?.acknowledged ?? 0
            {
                standings[reporter, default: Standing()].acknowledged = notice.taken
            }
            for statement in notice.statements {
                guard let lost = peers[statement.peer], statement.peer != reporter, statement.number <= Self.numberMax,
                    statement.number > standings[reporter]?.heard ?? 0
                else { continue }
                if peer.isAdministrator, statement.number >= lost.since.wholeSeconds {
                    hear(statement.number, from: reporter)
                    end(statement.peer, number: nil)
                } else {
                    keep(Report(reporter: reporter, peer: statement.peer, number: statement.number))
                }
            }
        }

        /// Of a full list, the reporter with the most reports loses its newest, unless that is this one. So a peer that reports
        /// everyone takes no room from the others, and none can have the list changed for ever.
        private mutating func keep(_ report: Report) {
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
        /// The number of the newest statement of this side that still holds; 0 if there is none.
        var newestNumber: UInt64 { revoked.compactMap(\.number).max() ?? 0 }

        /// Whether a peer has not taken all statements of this side yet.
        func owes(_ id: PeerID) -> Bool {
            peers[id]?.isOwn == true && newestNumber > standings[id]?.acknowledged ?? 0
        }

        /// The notice for a peer.
        ///
        /// - Parameter taken: the number of the peer's notice that this one answers; 0 if it answers none.
        func notice(for id: PeerID, answering taken: UInt64) -> RevocationNotice {
            // A peer that isn't the user's own learns nothing of the user's devices.
            let isOwn = peers[id]?.isOwn == true
            let statements = revoked.compactMap { lost in
                lost.number.map { RevocationNotice.Statement(peer: lost.id, number: $0) }
            }
            return RevocationNotice(
                statements: isOwn ? statements.sorted { $0.number < $1.number } : [], taken: taken,
                wantsAnswer: owes(id))
        }
    }

    extension Date {
        /// Seconds since 1970; 0 for earlier dates, and at most `TrustLedger.numberMax`.
        fileprivate var wholeSeconds: UInt64 {
            let seconds = timeIntervalSince1970
            return seconds > 0 ? UInt64(min(seconds, Double(TrustLedger.numberMax))) : 0
        }
    }
#endif
