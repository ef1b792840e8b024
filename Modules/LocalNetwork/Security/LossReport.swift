#if UDP || MQTT || WebSocket
    /// The report of one of the user's devices that a peer is lost. Nothing happens until a person decides on it
    /// (`TrustedPeers.confirm` or `TrustedPeers.dismiss`).
    public struct LossReport: Hashable, Sendable, Identifiable, CustomStringConvertible {
        /// Tells one report from another.
        public struct ID: Hashable, Sendable {
            let report: TrustLedger.Report
        }

        /// Tells this report from others.
        public let id: ID
        /// The device that reports the loss. Its name is shown, and never relied on.
        public let reporter: TrustedPeer
        /// The peer that is lost, by the word of the reporter.
        public let peer: TrustedPeer

        init(_ report: TrustLedger.Report, reporter: TrustedPeer, peer: TrustedPeer) {
            (id, self.reporter, self.peer) = (ID(report: report), reporter, peer)
        }

        /// A question's text in English: "Phone reports that Watch is lost".
        public var description: String { "\(reporter.name) reports that \(peer.name) is lost" }
    }

    /// A peer that was revoked, here or by a report.
    public struct RevokedPeer: Hashable, Sendable, Identifiable {
        /// The ID of the peer's key.
        public let id: PeerID
        /// The name that the peer was paired under.
        public let name: String
        /// The number of this side's statement; nil if another device made it.
        let number: UInt64?

        init(id: PeerID, name: String, number: UInt64?) {
            (self.id, self.name, self.number) = (id, name, number)
        }
    }
#endif
