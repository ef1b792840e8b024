#if WebSocket
    import MeshBase
    import NIOHTTP1

    /// Decides which requests are answered. A browser sends requests for any page that it shows, even to this machine.
    /// `Origin` has the page's site, and `Host` the name by which the page called the server.
    struct OriginPolicy: Sendable {
        /// True if the server has a certificate. Without one it serves only this machine.
        var isSecure = false
        /// Sites that may connect in addition to the server's own, such as `https://app.example`.
        var allowedOrigins: Set<String> = []

        /// - Parameter port: The server's port.
        /// - Returns: The status of the refusal; nil if the request is accepted.
        func refusal(_ head: HTTPRequestHead, port: Int?) -> HTTPResponseStatus? {
            let (hosts, origins) = (head.headers["Host"], head.headers["Origin"])
            guard hosts.count == 1, let host = hosts.first?.lowercased() else { return .badRequest }
            // With TLS, the certificate stops a page whose domain name points to this address (DNS rebinding).
            guard isSecure || isThisServer(host, port: port) else { return .misdirectedRequest }
            guard let origin = origins.first else { return nil }
            guard origins.count == 1 else { return .forbidden }
            let own = (isSecure ? "https://" : "http://") + host
            let isAllowed = allowedOrigins.contains {
                Self.withPort($0.lowercased()) == Self.withPort(origin.lowercased())
            }
            return isAllowed || Self.withPort(origin.lowercased()) == Self.withPort(own) ? nil : .forbidden
        }

        private func isThisServer(_ host: String, port: Int?) -> Bool {
            guard let port else { return false }
            let (name, digits) = Self.parts(host)
            let bare = name.hasPrefix("[") && name.hasSuffix("]") ? name.dropFirst().dropLast() : name
            guard bare.contains(":") == (bare.count < name.count) else { return false }
            return Loopback.contains(String(bare)) && (digits.map { Int($0) } ?? 80) == port
        }

        /// Returns an origin with its port, because browsers omit a scheme's default port.
        private static func withPort(_ origin: String) -> String {
            guard let scheme = ["https://", "http://"].first(where: origin.hasPrefix),
                parts(String(origin.dropFirst(scheme.count))).port == nil
            else { return origin }
            return origin + (scheme == "https://" ? ":443" : ":80")
        }

        private static func parts(_ host: String) -> (name: Substring, port: Substring?) {
            guard let colon = host.lastIndex(of: ":"), !host[colon...].contains("]") else { return (host[...], nil) }
            return (host[..<colon], host[host.index(after: colon)...])
        }
    }
#endif
