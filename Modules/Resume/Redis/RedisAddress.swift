#if Redis
    internal import Foundation
    public import MeshResumeGateway

    /// The address of a Redis server: `redis://[:password@]host[:port][/database]`, or
    /// `unix:///path/of/its/socket[?db=database]`.
    ///
    /// `redis+sentinel://[:password@]host[:port][,host[:port]…]/master[/database]` is the address of the master that Redis
    /// Sentinel names. A new connection asks the listed Sentinels in turn, and the process follows the failovers that they
    /// announce. The password is the master's; Sentinels must not need one.
    ///
    /// A name at the end (`redis://10.0.0.5#a`) is the shard's name if there are several: streams stay with the name when the
    /// server moves. Without it the name is the address, or Sentinel's name of the master with the database.
    ///
    /// The connection isn't encrypted. Reach a Redis server on another machine through an encrypted network or a tunnel.
    public struct RedisAddress: Hashable, Sendable, CustomStringConvertible {
        struct Host: Hashable, Sendable, CustomStringConvertible {
            let name: String
            let port: Int32

            var description: String { "\(name):\(port)" }
        }

        enum Place: Hashable, Sendable {
            case host(Host)
            case socket(path: String)
            case sentinels([Host], master: String)
        }

        /// Maximum number of Sentinels of one master.
        static let sentinelsMax = 16

        let place: Place
        let user: String?
        let password: String?
        let database: Int
        private let explicitName: String?

        /// Reads an address from a URL.
        ///
        /// - Parameter password: replaces the URL's, so that a URL in a program's arguments contains no secret.
        /// - Throws: `ReplayBufferError.Code.invalidAddress`.
        public init(_ url: String, password: String? = nil) throws(ReplayBufferError) {
            // `URLComponents` reads only one host, so the further ones are read here.
            let isSentinel = url.hasPrefix("redis+sentinel://")
            let (first, further) = isSentinel ? Self.firstHost(url) : (url, [])
            guard let parts = URLComponents(string: first), let scheme = parts.scheme else { throw Self.refusal(url) }
            var database = "0"
            switch scheme {
            case "redis":
                guard let host = Self.host(parts, port: 6379) else { throw Self.refusal(url) }
                place = .host(host)
                if parts.path.count > 1 { database = String(parts.path.dropFirst()) }
            case "redis+sentinel":
                let words = parts.path.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
                let hosts = ([parts] + further.map { URLComponents(string: "redis://" + $0) }).map {
                    $0.flatMap { Self.host($0, port: 26379) }
                }
                let known = hosts.compactMap { $0 }
                guard known.count == hosts.count, known.count <= Self.sentinelsMax, (1...2).contains(words.count),
                    !words[0].isEmpty
                else { throw Self.refusal(url) }
                place = .sentinels(known, master: String(words[0]))
                if words.count == 2 { database = String(words[1]) }
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
            explicitName = parts.fragment.flatMap { $0.isEmpty ? nil : $0 }
        }

        /// The address without its password and name.
        public var description: String {
            switch place {
            case .host(let host): "redis://\(host)/\(database)"
            case .socket(let path): "unix://\(path)?db=\(database)"
            case .sentinels(let hosts, let master):
                "redis+sentinel://\(hosts.map(\.description).joined(separator: ","))/\(master)/\(database)"
            }
        }

        /// The name by which streams are placed on this shard.
        var name: String {
            if let explicitName { return explicitName }
            // Without the Sentinels, because their list may change while the master's name stays.
            if case .sentinels(_, let master) = place { return "\(master)/\(database)" }
            return description
        }

        /// Returns the URL with its first host only, and the other hosts.
        private static func firstHost(_ url: String) -> (first: String, further: [String]) {
            let rest = url.dropFirst("redis+sentinel://".count)
            let authority = rest.prefix { $0 != "/" }
            let hosts = authority.split(separator: "@", omittingEmptySubsequences: false).last ?? ""
            let list = hosts.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
            let before = url.prefix(url.count - rest.count) + authority.dropLast(hosts.count)
            return (before + (list.first ?? "") + rest.dropFirst(authority.count), Array(list.dropFirst()))
        }

        private static func host(_ parts: URLComponents, port: Int) -> Host? {
            // IPv6 literals have brackets.
            let name = (parts.host ?? "").trimmingCharacters(in: ["[", "]"])
            guard !name.isEmpty, let port = Int32(exactly: parts.port ?? port), (1...65535).contains(port) else {
                return nil
            }
            return Host(name: name, port: port)
        }

        // The URL may contain a password, so it must not appear in logs.
        private static func refusal(_ url: String) -> ReplayBufferError {
            ReplayBufferError(
                .invalidAddress,
                "not a Redis address (\(url.utf8.count) bytes); use redis://[:password@]host[:port][/database]")
        }
    }
#endif
