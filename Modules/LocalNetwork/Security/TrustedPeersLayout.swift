#if UDP || MQTT || WebSocket
    import Crypto

    import MeshFoundation

    /// The file of trusted peers: a line that names layout, version and checksum, then JSON for people to read.
    ///
    /// The checksum finds damage: one digit of an id that has changed would be the id of somebody else. It keeps nobody
    /// from writing, which the mode of the file does.
    enum TrustedPeersLayout {
        static let bytesMax = 256 << 10
        private static let name = "sessionmesh-trusted-peers"
        private static let version = 1

        static func encode(_ peers: [TrustedPeer]) throws(SecurityError) -> [UInt8] {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
            encoder.dateEncodingStrategy = .secondsSince1970
            guard let json = try? encoder.encode(peers) else {
                throw SecurityError(.invalidArgument, "a peer cannot be written as JSON")
            }
            let body = Array(json) + [UInt8(ascii: "\n")]
            return Array("\(name) \(version) \(checksum(body))\n".utf8) + body
        }

        static func decode(_ bytes: [UInt8], from path: String) throws(SecurityError) -> [TrustedPeer] {
            let damaged = SecurityError(
                .damaged, "'\(path)' is not as it was written; put back a copy, or move it away and pair anew")
            guard let end = bytes.firstIndex(of: UInt8(ascii: "\n")) else { throw damaged }
            let head = String(decoding: bytes[..<end], as: UTF8.self).split(
                separator: " ", omittingEmptySubsequences: false)
            guard head.count >= 3, head[0] == name, let version = Int(head[1]) else { throw damaged }
            guard version <= Self.version else {
                throw SecurityError(.newerVersion, "'\(path)' was written by a newer version; update this one")
            }
            let body = bytes[(end + 1)...]
            guard version == Self.version, head.count == 3, head[2] == checksum(body) else { throw damaged }
            let decoder = JSONDecoder()
            decoder.dateDecodingStrategy = .secondsSince1970
            guard let peers = try? decoder.decode([TrustedPeer].self, from: Data(body)),
                peers.count <= TrustedPeers.countMax
            else { throw damaged }
            return peers
        }

        private static func checksum(_ body: some DataProtocol) -> String {
            SHA256.hash(data: body).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        }
    }
#endif
