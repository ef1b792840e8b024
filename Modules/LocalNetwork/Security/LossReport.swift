#if UDP || MQTT || WebSocket
    /// A report by one of the user's devices that a peer is lost. It has no effect until the user decides on it with
    /// `TrustedPeers.confirm` or `TrustedPeers.dismiss`.
    public struct LossReport: Hashable, Sendable, Identifiable, CustomStringConvertible {
        /// The identifier of a report.
        public struct ID: Hashable, Sendable {
            let report: TrustLedger.Report
        }

        /// The identifier of this report.
        public let id: ID
        /// The device that reports the loss. Its name is for display only.
        public let reporter: TrustedPeer
        /// The peer that is lost, according to the reporter.
        public let peer: TrustedPeer

        init(_ report: TrustLedger.Report, reporter: TrustedPeer, peer: TrustedPeer) {
            (id, self.reporter, self.peer) = (ID(report: report), reporter, peer)
        }

        /// The text for a question to the user, in English: "Phone reports that Watch is lost".
        public var description: String { "\(reporter.name) reports that \(peer.name) is lost" }
    }

    /// A peer that was revoked, on this device or by another device's report.
    public struct RevokedPeer: Hashable, Sendable, Identifiable {
        /// The ID of the peer's key.
        public let id: PeerID
        /// The name of the peer when it was revoked.
        public let name: String
        /// The number of this side's statement; nil if another device made the statement.
        let number: UInt64?

        init(id: PeerID, name: String, number: UInt64?) {
            (self.id, self.name, self.number) = (id, name, number)
        }
    }
#endif
