#if MQTT || WebSocket
    package import MeshSecurity
    import MeshTransport

    /// The topics on which peers publish. They can be read in any MQTT broker's tools:
    ///
    ///     sessionmesh/1/PEER/presence                retained, and the will: presence and public key
    ///     sessionmesh/1/TO/from/FROM/hello           QoS 1, expires: key agreement of two present peers
    ///     sessionmesh/1/TO/from/FROM/datagram        QoS 0
    ///     sessionmesh/1/TO/from/FROM/queue           QoS 1, kept by TO's session
    ///     sessionmesh/1/TO/from/FROM/latest/KEY      QoS 1, retained
    ///     sessionmesh/1/pairing/NAME                 QoS 1: two devices that pair; NAME is derived from their secret
    ///
    /// Peers are written as their IDs: 64 hexadecimal digits.
    package enum RelayTopic: Hashable, Sendable {
        case presence(PeerID)
        case hello(to: PeerID, from: PeerID)
        case datagram(to: PeerID, from: PeerID)
        case queue(to: PeerID, from: PeerID)
        case latest(to: PeerID, from: PeerID, key: String)

        private static let root = "sessionmesh/1/"
        /// Maximum number of bytes in a topic. This library's own topics are shorter.
        static let bytesMax = 256

        /// Parses a topic; nil if it isn't one of this library's.
        package init?(_ name: String) {
            // Splits bytes, because splitting characters costs more than sealing the message.
            let bytes = name.utf8
            guard bytes.count <= Self.bytesMax, bytes.starts(with: Self.root.utf8) else { return nil }
            let parts = bytes.dropFirst(Self.root.utf8.count)
                .split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
            func part(_ index: Int) -> Substring { Substring(parts[index]) }
            guard let first = parts.first, let subject = PeerID(digits: first) else { return nil }
            if parts.count == 2, part(1) == "presence" {
                self = .presence(subject)
                return
            }
            guard parts.count >= 4, part(1) == "from", let sender = PeerID(digits: parts[2]) else { return nil }
            switch (part(3), parts.count) {
            case ("hello", 4): self = .hello(to: subject, from: sender)
            case ("datagram", 4): self = .datagram(to: subject, from: sender)
            case ("queue", 4): self = .queue(to: subject, from: sender)
            case ("latest", 5): self = .latest(to: subject, from: sender, key: String(part(4)))
            default: return nil
            }
        }

        package var name: String {
            switch self {
            case .presence(let peer): "\(Self.root)\(peer)/presence"
            case .hello(let to, let from): "\(Self.root)\(to)/from/\(from)/hello"
            case .datagram(let to, let from): "\(Self.root)\(to)/from/\(from)/datagram"
            case .queue(let to, let from): "\(Self.root)\(to)/from/\(from)/queue"
            case .latest(let to, let from, let key): "\(Self.root)\(to)/from/\(from)/latest/\(key)"
            }
        }

        /// Returns the topic at which two devices with the same secret meet.
        package static func pairing(_ bytes: [UInt8]) -> String { "\(root)pairing/\(hexadecimal(bytes))" }

        static func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
            let digits = Array("0123456789abcdef")
            return String(bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] })
        }

        /// Returns the filter for all messages to a peer.
        package static func inbox(of peer: PeerID) -> String { "\(root)\(peer)/from/#" }
    }
#endif
