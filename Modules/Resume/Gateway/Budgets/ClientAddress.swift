/// Functions that read IP addresses as text, for a gateway's budgets.
package enum ClientAddress {
    /// Returns the key of an address in a budget: an IPv4 address unchanged, and the first 64 bits of an IPv6 address,
    /// because one client may use all addresses that begin with them.
    package static func share(of address: String) -> String {
        guard let groups = groups(of: address) else { return address }
        // An IPv4-mapped IPv6 address.
        if groups[..<5].allSatisfy({ $0 == 0 }), groups[5] == 0xffff {
            return [groups[6] >> 8, groups[6] & 0xff, groups[7] >> 8, groups[7] & 0xff].map(String.init)
                .joined(separator: ".")
        }
        return groups[..<4].map { String($0, radix: 16) }.joined(separator: ":") + "::/64"
    }

    /// Returns the eight groups of an IPv6 address, nil for any other text.
    static func groups(of address: String) -> [UInt16]? {
        let text = address.prefix { $0 != "%" }
        guard text.contains(":") else { return nil }
        let halves = text.split(separator: "::", omittingEmptySubsequences: false)
        guard halves.count <= 2 else { return nil }
        let lists = halves.map { numbers(String($0)) }
        guard let first = lists[0] else { return nil }
        guard halves.count == 2 else { return first.count == 8 ? first : nil }
        guard let last = lists[1], first.count + last.count < 8 else { return nil }
        return first + [UInt16](repeating: 0, count: 8 - first.count - last.count) + last
    }

    private static func numbers(_ text: String) -> [UInt16]? {
        guard !text.isEmpty else { return [] }
        var numbers: [UInt16] = []
        for part in text.split(separator: ":", omittingEmptySubsequences: false) {
            if let bytes = octets(of: String(part)) {
                numbers += [UInt16(bytes[0]) << 8 | UInt16(bytes[1]), UInt16(bytes[2]) << 8 | UInt16(bytes[3])]
            } else if part.utf8.count <= 4, let number = UInt16(part, radix: 16) {
                numbers.append(number)
            } else {
                return nil
            }
        }
        return numbers
    }

    /// Returns the four bytes of an IPv4 address, nil for any other text.
    static func octets(of address: String) -> [UInt8]? {
        let parts = address.split(separator: ".", omittingEmptySubsequences: false)
        let bytes = parts.compactMap { $0.utf8.count <= 3 ? UInt8($0) : nil }
        return parts.count == 4 && bytes.count == 4 ? bytes : nil
    }

    /// Returns true if an address equals the given one, or is in the given block such as `10.0.0.0/8`.
    package static func isIn(_ block: String, _ address: String) -> Bool {
        let parts = block.split(separator: "/", maxSplits: 1)
        guard let base = parts.first.flatMap({ bits(of: String($0)) }), let bits = bits(of: address) else {
            return block == address
        }
        let length = parts.count == 2 ? Int(parts[1]) : base.count
        guard let length, (0...base.count).contains(length), bits.count == base.count else { return false }
        return bits.prefix(length) == base.prefix(length)
    }

    private static func bits(of address: String) -> [Bool]? {
        if let octets = octets(of: address) {
            return octets.flatMap { byte in (0..<8).map { byte >> (7 - $0) & 1 == 1 } }
        }
        guard let groups = groups(of: address) else { return nil }
        if groups[..<5].allSatisfy({ $0 == 0 }), groups[5] == 0xffff { return bits(of: share(of: address)) }
        return groups.flatMap { group in (0..<16).map { group >> (15 - $0) & 1 == 1 } }
    }

    /// Returns the address of the client behind proxies.
    ///
    /// Each proxy appends the address of its own peer, so only the end of the list is trusted. The client is the last address
    /// that isn't a trusted proxy.
    ///
    /// - Parameters:
    ///   - peer: the remote address of the socket.
    ///   - forwarded: the values of `Forwarded`, in order (RFC 7239).
    ///   - forwardedFor: the values of `X-Forwarded-For`, in order; used if there is no `Forwarded`.
    ///   - proxies: addresses and blocks of trusted proxies.
    package static func client(
        peer: String, forwarded: [String], forwardedFor: [String], trusting proxies: [String]
    ) -> String {
        func isProxy(_ address: String) -> Bool { proxies.contains { isIn($0, address) } }
        guard isProxy(peer) else { return peer }
        let hops = forwarded.isEmpty ? forwardedFor.flatMap(elements) : forwarded.flatMap(elements).map(node)
        var client = peer
        for hop in hops.reversed() {
            // The node isn't an address, but for example an obfuscated name. Earlier entries can't be trusted.
            guard let address = address(ofNode: hop) else { return client }
            client = address
            if !isProxy(address) { return client }
        }
        return client
    }

    private static func elements(_ header: String) -> [String] {
        header.split(separator: ",").map { String($0).trimmed }
    }

    /// Returns the node of `for=` in one element of `Forwarded`.
    private static func node(_ element: String) -> String {
        for pair in element.split(separator: ";") {
            let parts = pair.split(separator: "=", maxSplits: 1).map { String($0).trimmed }
            if parts.count == 2, parts[0].lowercased() == "for" {
                return parts[1].filter { $0 != "\"" }
            }
        }
        return ""
    }

    private static func address(ofNode node: String) -> String? {
        if node.hasPrefix("[") {
            let address = String(node.dropFirst().prefix { $0 != "]" })
            return groups(of: address).map { _ in address }
        }
        if groups(of: node) != nil { return node }
        let address = String(node.prefix { $0 != ":" })
        return octets(of: address).map { _ in address }
    }
}

extension String {
    fileprivate var trimmed: String {
        String(drop { $0 == " " || $0 == "\t" }.reversed().drop { $0 == " " || $0 == "\t" }.reversed())
    }
}
