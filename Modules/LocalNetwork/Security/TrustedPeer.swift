#if UDP || MQTT || WebSocket
    public import MeshFoundation

    /// A peer that is paired with this one.
    public struct TrustedPeer: Codable, Hashable, Sendable {
        /// The ID of the peer, whose key is pinned.
        public let id: PeerID
        /// The device's name, as its user chose it: at most 64 bytes of UTF-8 without control characters. For display
        /// only; it proves nothing.
        public let name: String
        /// The time of the pairing by this device's clock, rounded down to a second.
        public let since: Date
        /// True if the user marked the peer as their own device while pairing. Sessions admit it without an invitation.
        public let isOwn: Bool
        /// True if the user allowed this peer, while pairing, to report losses without confirmation: the peers that it
        /// reports are revoked at once. At most four trusted peers can be administrators
        /// (`TrustedPeers.administratorsMax`).
        public let isAdministrator: Bool

        /// Creates an entry for a peer.
        ///
        /// - Parameters:
        ///   - name: The device's name. Characters that can't be shown are removed, and long names are cut.
        ///   - isAdministrator: True for an administrator. An administrator is always the user's own device, even if
        ///     `isOwn` is false.
        public init(
            id: PeerID, name: String, since: Date = Date(), isOwn: Bool = false, isAdministrator: Bool = false
        ) {
            self.id = id
            self.isOwn = isOwn || isAdministrator
            self.isAdministrator = isAdministrator
            self.name = DeviceName.sanitized(name)
            let seconds = since.timeIntervalSince1970.rounded(.down)
            self.since = Date(timeIntervalSince1970: seconds.isFinite ? seconds : 0)
        }

        public init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            self.init(
                id: try container.decode(PeerID.self, forKey: .id),
                name: try container.decode(String.self, forKey: .name),
                since: try container.decode(Date.self, forKey: .since),
                // Earlier versions didn't write this field.
                isOwn: try container.decodeIfPresent(Bool.self, forKey: .isOwn) ?? false,
                isAdministrator: try container.decodeIfPresent(Bool.self, forKey: .isAdministrator) ?? false)
        }

        public func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(id, forKey: .id)
            try container.encode(name, forKey: .name)
            try container.encode(since, forKey: .since)
            try container.encode(isOwn, forKey: .isOwn)
            // Omitted if false, so that the file is the same as from earlier versions.
            if isAdministrator { try container.encode(isAdministrator, forKey: .isAdministrator) }
        }

        private enum CodingKeys: String, CodingKey {
            case id, name, since, isOwn, isAdministrator
        }
    }
#endif
