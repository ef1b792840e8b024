#if Redis
    internal import Foundation
    public import MeshResumeGateway

    /// The address of a Redis server: `redis://[:password@]host[:port][/database]`, or
    /// `unix:///path/of/its/socket[?db=database]`.
    ///
    /// The connection isn't encrypted. Reach a Redis server on another machine through an encrypted network or a tunnel.
    public struct RedisAddress: Hashable, Sendable, CustomStringConvertible {
        enum Place: Hashable, Sendable {
            case host(String, port: Int32)
            case socket(path: String)
        }

        let place: Place
        let user: String?
        let password: String?
        let database: Int

        /// Reads an address from a URL.
        ///
        /// - Parameter password: replaces the URL's, so that a URL in a program's arguments contains no secret.
        /// - Throws: `ReplayBufferError.Code.invalidAddress`.
        public init(_ url: String, password: String? = nil) throws(ReplayBufferError) {
            guard let parts = URLComponents(string: url), let scheme = parts.scheme else { throw Self.refusal(url) }
            var database = "0"
            switch scheme {
            case "redis":
                // IPv6 literals have brackets.
                let host = (parts.host ?? "").trimmingCharacters(in: ["[", "]"])
                guard !host.isEmpty, let port = Int32(exactly: parts.port ?? 6379), (1...65535).contains(port) else {
                    throw Self.refusal(url)
                }
                place = .host(host, port: port)
                if parts.path.count > 1 { database = String(parts.path.dropFirst()) }
            case "unix":
                guard parts.path.hasPrefix("/") else { throw Self.refusal(url) }
                place = .socket(path: parts.path)
                if let item = parts.queryItems?.first(where: { $0.name == "db" }) { database = item.value ?? "" }
            default: throw Self.refusal(url)
            }
            guard let number = Int(database), (0...65535).contains(number) else { throw Self.refusal(url) }
            self.database = number
            user = parts.user.flatMap { $0.isEmpty ? nil : $0 }
            self.password = password ?? parts.password
        }

        /// The address without its password.
        public var description: String {
            switch place {
            case .host(let host, let port): "redis://\(host):\(port)/\(database)"
            case .socket(let path): "unix://\(path)?db=\(database)"
            }
        }

        // The URL may contain a password, so it must not appear in logs.
        private static func refusal(_ url: String) -> ReplayBufferError {
            ReplayBufferError(
                .invalidAddress,
                "not a Redis address (\(url.utf8.count) bytes); use redis://[:password@]host[:port][/database]")
        }
    }
#endif
