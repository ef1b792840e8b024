#if MQTT
    import Foundation
    import MeshBase

    /// The address of a broker, and the credentials for it.
    public struct MQTTBroker: Hashable, Sendable {
        /// A host's name or address.
        public var host: String
        /// The TCP port of the broker.
        public var port: UInt16
        /// TLS, with the broker's certificate checked. Content is sealed either way; TLS keeps topics from the network.
        public var usesTLS: Bool
        /// The user name for the login; nil logs in without one.
        public var user: String?
        /// The user's password; nil for none. It needs TLS, unless the broker is on this machine: else a client throws
        /// `MQTTError.Code.invalidArgument`.
        public var password: String?
        /// PEM file of the authorities to believe; nil for the system's.
        public var authoritiesPath: String?

        /// Port 8883 with TLS and 1883 without, unless told otherwise.
        public init(host: String, port: UInt16? = nil, usesTLS: Bool = false) {
            self.host = host
            self.port = port ?? (usesTLS ? 8883 : 1883)
            self.usesTLS = usesTLS
        }

        /// Reads a broker's address from a URL.
        ///
        /// - Parameter url: `mqtt://host`, `mqtts://user:password@host:port`; nil for anything else.
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

        /// - Throws: `MQTTError.Code.invalidArgument` for a password that would leave this machine in clear text.
        func requireSafePassword() throws(MQTTError) {
            guard password == nil || usesTLS || Loopback.contains(host) else {
                throw MQTTError(
                    .invalidArgument, "the password for '\(host)' would travel in clear text: use mqtts://")
            }
        }

        /// The broker's URL as `init(url:)` takes it, without the password.
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
