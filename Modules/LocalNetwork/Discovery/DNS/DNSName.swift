/// A domain name: labels of 1 to 63 bytes, with at most 255 bytes on the wire.
///
/// Names that differ only in the case of ASCII letters are equal (RFC 1035 section 2.3.3, RFC 6762 section 16).
package struct DNSName: Hashable, Sendable, CustomStringConvertible {
    /// The uncompressed wire format: each label after its length, and a zero at the end.
    package let wire: [UInt8]

    package static let root = DNSName(checked: [0])

    /// - Throws: `DNSError` with `badName` if a label or the name has an invalid length.
    package init(labels: [[UInt8]]) throws(DNSError) {
        var wire: [UInt8] = []
        for label in labels {
            guard (1...Self.labelBytesMax).contains(label.count) else { throw DNSError(.badName) }
            wire.append(UInt8(label.count))
            wire += label
        }
        wire.append(0)
        guard wire.count <= Self.bytesMax else { throw DNSError(.badName) }
        self.init(checked: wire)
    }

    /// Creates a name from labels separated by dots. A label can't contain a dot.
    /// - Throws: `DNSError` with `badName` if a label or the name has an invalid length.
    package init(_ text: String) throws(DNSError) {
        try self.init(labels: text.split(separator: ".", omittingEmptySubsequences: false).map { Array($0.utf8) })
    }

    /// Creates a name from its wire format, without checking it.
    init(checked wire: [UInt8]) { self.wire = wire }

    /// Returns this name with one more label in front.
    /// - Throws: `DNSError` with `badName` if the label or the result has an invalid length.
    package func prefixed(by label: [UInt8]) throws(DNSError) -> DNSName {
        guard (1...Self.labelBytesMax).contains(label.count), label.count + 1 + wire.count <= Self.bytesMax else {
            throw DNSError(.badName)
        }
        return DNSName(checked: [UInt8(label.count)] + label + wire)
    }

    /// The bytes of the first label; empty for the root.
    package var firstLabel: ArraySlice<UInt8> { wire[1..<max(1, Int(wire[0]) + 1)] }

    /// The name without its first label; nil for the root.
    package var parent: DNSName? {
        wire[0] == 0 ? nil : DNSName(checked: Array(wire[(Int(wire[0]) + 1)...]))
    }

    package var labels: [ArraySlice<UInt8>] {
        var labels: [ArraySlice<UInt8>] = []
        var offset = 0
        while wire[offset] != 0 {
            let end = offset + 1 + Int(wire[offset])
            labels.append(wire[offset + 1..<end])
            offset = end
        }
        return labels
    }

    package var description: String {
        let text = labels.map { label in String(decoding: label, as: UTF8.self) }.joined(separator: ".")
        return text.isEmpty ? "." : text
    }

    package static let labelBytesMax = 63
    package static let bytesMax = 255
}

// MARK: - Comparison

extension DNSName {
    // Length bytes are below 64, so they can't be mistaken for letters.
    package static func == (left: DNSName, right: DNSName) -> Bool {
        left.wire == right.wire
            || left.wire.count == right.wire.count
                && zip(left.wire, right.wire).allSatisfy { lowercased($0) == lowercased($1) }
    }

    package func hash(into hasher: inout Hasher) {
        for byte in wire { hasher.combine(Self.lowercased(byte)) }
    }

    private static func lowercased(_ byte: UInt8) -> UInt8 { (0x41...0x5A).contains(byte) ? byte | 0x20 : byte }
}
