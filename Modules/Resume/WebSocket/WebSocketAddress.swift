import MeshBase

/// The address of a WebSocket: `wss://host:port/path`, or `ws:` on this machine.
package struct WebSocketAddress: Hashable, Sendable {
    package let isSecure: Bool
    package let host: String
    package let port: Int
    /// The path with its query.
    package let path: String

    /// - Parameter allowsClearText: True permits `ws:` to other machines.
    /// - Throws: `WebSocketError.invalidAddress`.
    package init(_ text: String, allowsClearText: Bool = false) throws(WebSocketError) {
        let (scheme, rest) = try Self.split(text)
        isSecure = scheme == "wss"
        let end = rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
        let (authority, tail) = (rest[..<end], rest[end...])
        path = tail.hasPrefix("/") ? String(tail) : "/" + tail
        guard path.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f }) else {
            throw WebSocketError(.invalidAddress, "'\(text)': the path must be printable ASCII")
        }
        let colon = authority.lastIndex(of: ":").flatMap { authority[$0...].contains("]") ? nil : $0 }
        let name = authority[..<(colon ?? authority.endIndex)]
        host = String(name.hasPrefix("[") && name.hasSuffix("]") ? name.dropFirst().dropLast() : name)
        let digits = colon.map { authority[authority.index(after: $0)...] }
        guard let port = digits.map({ Int($0) }) ?? (scheme == "wss" ? 443 : 80), (1...65535).contains(port),
            !host.isEmpty,
            host.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f && $0 != UInt8(ascii: "@") })
        else {
            throw WebSocketError(.invalidAddress, "'\(text)' has no valid host and port")
        }
        self.port = port
        guard isSecure || allowsClearText || Loopback.contains(host) else {
            throw WebSocketError(.invalidAddress, "'\(text)' would send in clear text")
        }
    }

    private static func split(_ text: String) throws(WebSocketError) -> (scheme: String, rest: Substring) {
        for scheme in ["wss", "ws"] where text.lowercased().hasPrefix(scheme + "://") {
            return (scheme, text.dropFirst(scheme.count + 3))
        }
        throw WebSocketError(.invalidAddress, "'\(text)' doesn't begin with wss:// or ws://")
    }
}
