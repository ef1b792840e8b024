#if UDP || MQTT || WebSocket
    import Crypto

    import MeshFoundation

    /// The file of trusted peers: a line with the format's name, version and checksum, then readable JSON.
    ///
    /// Version 1 is an array of peers. It is still written if there is nothing else to store, so that earlier versions
    /// can read it. Version 2 is an object with all of `TrustLedger`.
    ///
    /// The checksum detects damage: a single changed digit would turn a peer ID into another. It doesn't prevent
    /// tampering; the file's mode does.
    enum TrustedPeersLayout {
        static let bytesMax = 256 << 10
        private static let name = "sessionmesh-trusted-peers"
        private static let version = 2

        static func encode(_ ledger: TrustLedger) throws(SecurityError) -> [UInt8] {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
            encoder.dateEncodingStrategy = .secondsSince1970
            let isPlain = ledger.isPlain
            guard let json = try? isPlain ? encoder.encode(ledger.sortedPeers) : encoder.encode(Contents(ledger)) else {
                throw SecurityError(.invalidArgument, "a peer can't be encoded as JSON")
            }
            let body = Array(json) + [UInt8(ascii: "\n")]
            return Array("\(name) \(isPlain ? 1 : version) \(checksum(body))\n".utf8) + body
        }

        static func decode(_ bytes: [UInt8], from path: String) throws(SecurityError) -> TrustLedger {
            let damaged = SecurityError(
                .damaged, "'\(path)' is damaged; restore a copy, or move it away and pair again")
            guard let end = bytes.firstIndex(of: UInt8(ascii: "\n")) else { throw damaged }
            let head = String(decoding: bytes[..<end], as: UTF8.self).split(
                separator: " ", omittingEmptySubsequences: false)
            guard head.count >= 3, head[0] == name, let version = Int(head[1]) else { throw damaged }
            guard version <= Self.version else {
                throw SecurityError(.newerVersion, "'\(path)' was written by a newer version; update the app")
            }
            let body = bytes[(end + 1)...]
            guard version >= 1, head.count == 3, head[2] == checksum(body) else { throw damaged }
            let decoder = JSONDecoder()
            decoder.dateDecodingStrategy = .secondsSince1970
            let contents =
                version == 1
                ? (try? decoder.decode([TrustedPeer].self, from: Data(body))).map { Contents(peers: $0) }
                : try? decoder.decode(Contents.self, from: Data(body))
            guard let ledger = contents?.ledger else { throw damaged }
            return ledger
        }

        private static func checksum(_ body: some DataProtocol) -> String {
            SHA256.hash(data: body).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        }
    }

    /// A ledger as JSON.
    private struct Contents: Codable {
        struct Standing: Codable {
            let id: PeerID
            let heard: UInt64
            let acknowledged: UInt64
        }

        struct Revoked: Codable {
            let id: PeerID
            let name: String
            let number: UInt64?
        }

        let peers: [TrustedPeer]
        var revoked: [Revoked] = []
        var reports: [TrustLedger.Report] = []
        var standings: [Standing] = []
        var lastNumber: UInt64 = 0

        init(peers: [TrustedPeer]) { self.peers = peers }

        init(_ ledger: TrustLedger) {
            peers = ledger.sortedPeers
            revoked = ledger.revoked.map { Revoked(id: $0.id, name: $0.name, number: $0.number) }
            reports = ledger.reports
            standings = ledger.standings.sorted { $0.key < $1.key }.map {
                Standing(id: $0.key, heard: $0.value.decidedNumber, acknowledged: $0.value.acknowledged)
            }
            lastNumber = ledger.lastNumber
        }

        /// The ledger; nil if it exceeds a bound.
        var ledger: TrustLedger? {
            var ledger = TrustLedger()
            for peer in peers where ledger.peers[peer.id] == nil { ledger.peers[peer.id] = peer }
            ledger.revoked = revoked.map {
                RevokedPeer(id: $0.id, name: DeviceName.sanitized($0.name), number: $0.number)
            }
            ledger.reports = reports
            for standing in standings {
                ledger.standings[standing.id] = .init(
                    decidedNumber: standing.heard, acknowledged: standing.acknowledged)
            }
            ledger.lastNumber = lastNumber
            return ledger.isWithinBounds(peerCount: peers.count) ? ledger : nil
        }
    }

    extension TrustLedger {
        /// True if version 1 of the format can hold the ledger: only peers, and no administrators.
        fileprivate var isPlain: Bool {
            self == TrustLedger(peers: peers) && !peers.values.contains(where: \.isAdministrator)
        }

        fileprivate func isWithinBounds(peerCount: Int) -> Bool {
            peerCount <= TrustedPeers.countMax && revoked.count <= TrustedPeers.revokedMax
                && peers.values.count(where: \.isAdministrator) <= TrustedPeers.administratorsMax
                && reports.count <= TrustedPeers.reportsMax && lastNumber <= Self.numberMax
                && revoked.allSatisfy { peers[$0.id] == nil && $0.number ?? 0 <= Self.numberMax }
                && reports.allSatisfy { peers[$0.reporter] != nil && peers[$0.peer] != nil }
                && standings.keys.allSatisfy { peers[$0] != nil }
        }
    }
#endif
