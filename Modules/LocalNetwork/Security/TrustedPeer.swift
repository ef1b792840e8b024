#if UDP || MQTT || WebSocket
    public import MeshFoundation

    /// A peer that this one has been paired with.
    public struct TrustedPeer: Codable, Hashable, Sendable {
        /// The ID of the peer whose key is pinned.
        public let id: PeerID
        /// The device's name as its user chose it: shown, and never relied on. At most 64 bytes of UTF-8 without
        /// control characters.
        public let name: String
        /// The moment of the pairing by this device's clock, to the second.
        public let since: Date
        /// Whether it is a device of the same user, as the user has said while pairing. Sessions let such a device in without an
        /// invitation.
        public let isOwn: Bool
        /// Whether the user has said while pairing that this peer may report losses without a tap here: the peers that it
        /// reports are revoked at once. At most four trusted peers (`TrustedPeers.administratorsMax`).
        public let isAdministrator: Bool

        /// Creates an entry for a peer.
        ///
        /// - Parameters:
        ///   - name: what must not be shown is taken out, and what is too long is cut.
        ///   - isAdministrator: such a peer is the user's own, whatever `isOwn` says.
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
                // Written by a version that didn't ask.
                isOwn: try container.decodeIfPresent(Bool.self, forKey: .isOwn) ?? false,
                isAdministrator: try container.decodeIfPresent(Bool.self, forKey: .isAdministrator) ?? false)
        }

        public func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(id, forKey: .id)
            try container.encode(name, forKey: .name)
            try container.encode(since, forKey: .since)
            try container.encode(isOwn, forKey: .isOwn)
            // Left out where it is false, as earlier versions write it.
            if isAdministrator { try container.encode(isAdministrator, forKey: .isAdministrator) }
        }

        private enum CodingKeys: String, CodingKey {
            case id, name, since, isOwn, isAdministrator
        }
    }
#endif
