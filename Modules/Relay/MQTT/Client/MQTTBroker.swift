#if MQTT
    import Foundation
    import MeshBase

    /// The address of a broker, and the credentials for it.
    public struct MQTTBroker: Hashable, Sendable {
        /// The host name or IP address.
        public var host: String
        /// The TCP port of the broker.
        public var port: UInt16
        /// True to use TLS and check the broker's certificate. Content is sealed in any case; TLS also hides topics.
        public var usesTLS: Bool
        /// The user name for the login; nil logs in without one.
        public var user: String?
        /// The user's password; nil for none. Without TLS it is accepted only for a broker on this machine; otherwise a
        /// client throws `MQTTError.Code.invalidArgument`.
        public var password: String?
        /// The path of a PEM file with trusted certificate authorities; nil for the system's.
        public var authoritiesPath: String?

        /// Creates the address of a broker. The default port is 8883 with TLS and 1883 without.
        public init(host: String, port: UInt16? = nil, usesTLS: Bool = false) {
            self.host = host
            self.port = port ?? (usesTLS ? 8883 : 1883)
            self.usesTLS = usesTLS
        }

        /// Reads a broker's address from a URL.
        ///
        /// - Parameter url: `mqtt://host` or `mqtts://user:password@host:port`. The result is nil for other URLs.
        public init?(url: String) {
            guard let parts = URLComponents(string: url), let host = parts.host, !host.isEmpty,
                parts.path.isEmpty || parts.path == "/", parts.query == nil, parts.fragment == nil,
                parts.scheme == "mqtt" || parts.scheme == "mqtts",
                (1...65_535).contains(parts.port ?? 1883)
            else { return nil }
            let bare = host.hasPrefix("[") && host.hasSuffix("]") ? String(host.dropFirst().dropLast()) : host
            self.init(host: bare, port: parts.port.map { UInt16($0) }, usesTLS: parts.scheme == "mqtts")
            user = parts.user
            password = parts.password
        }

        /// - Throws: `MQTTError.Code.invalidArgument` if the password would be sent to another machine in clear text.
        func requireSafePassword() throws(MQTTError) {
            guard password == nil || usesTLS || Loopback.contains(host) else {
                throw MQTTError(
                    .invalidArgument, "the password for '\(host)' would travel in clear text: use mqtts://")
            }
        }

        /// The broker's URL in the form that `init(url:)` reads, without the password.
        public var url: String {
            let shown = host.contains(":") ? "[\(host)]" : host
            return "\(usesTLS ? "mqtts" : "mqtt")://\(user.map { "\($0)@" } ?? "")\(shown):\(port)"
        }
    }

    extension MQTTBroker: CustomStringConvertible, CustomReflectable {
        public var description: String { url }
        public var customMirror: Mirror { Mirror(self, children: ["url": url]) }
    }
#endif
