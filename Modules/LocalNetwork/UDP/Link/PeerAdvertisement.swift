#if UDP
    import MeshDiscovery
    import MeshSecurity

    /// The announcement of a link on the network, and its interpretation by other links.
    ///
    /// The label is random and has no meaning. The attributes are `v`, the version; `h`, a hint by which devices that
    /// know the peer recognize it; and `s`, the start ID, a random number that shows when the link has restarted. A
    /// pairing window also has `p`.
    struct PeerAdvertisement: Hashable {
        static let version: UInt8 = 1

        var hint: [UInt8]
        var startID: UInt64

        static func randomLabel() -> String {
            let letters = Array("abcdefghijklmnopqrstuvwxyz234567")
            return String((0..<16).map { _ in letters[Int.random(in: 0..<letters.count)] })
        }

        static func announcement(
            of peer: PeerID, label: String, startID: UInt64, port: UInt16, isPairing: Bool = false
        ) -> ServiceAnnouncement {
            var attributes = [
                ServiceAttribute("v", "\(version)"), ServiceAttribute("h", peer.hint(instance: label)),
                ServiceAttribute("s", (0..<8).map { UInt8(truncatingIfNeeded: startID >> (56 - 8 * $0)) }),
            ]
            if isPairing { attributes.append(ServiceAttribute("p", "1")) }
            return ServiceAnnouncement(instance: label, port: port, attributes: attributes)
        }

        /// Reads a service's announcement; nil for another version, or if the service isn't one of ours.
        /// - Parameter isPairing: True to accept only announcements of pairing windows, false to accept only others.
        init?(_ service: FoundService, isPairing: Bool = false) {
            guard service["v"] == Array("\(Self.version)".utf8), let hint = service["h"], hint.count == 8,
                let start = service["s"], start.count == 8, service.port > 0,
                (service["p"] == Array("1".utf8)) == isPairing
            else { return nil }
            self.hint = hint
            startID = start.reduce(0) { $0 << 8 | UInt64($1) }
        }
    }
#endif
