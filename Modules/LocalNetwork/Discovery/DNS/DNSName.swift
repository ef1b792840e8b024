/// A domain name: labels, each of 1 to 63 bytes, at most 255 bytes on the wire.
///
/// Names that differ in the case of ASCII letters only are equal (RFC 1035 section 2.3.3, RFC 6762 section 16).
package struct DNSName: Hashable, Sendable, CustomStringConvertible {
    /// As on the wire, without compression: each label behind its length, and a zero at the end.
    package let wire: [UInt8]

    package static let root = DNSName(checked: [0])

    /// - Throws: `DNSError` with `badName` when a label or the whole does not fit.
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

    /// Labels separated by dots, none of which can hold a dot.
    /// - Throws: `DNSError` with `badName` when a label or the whole does not fit.
    package init(_ text: String) throws(DNSError) {
        try self.init(labels: text.split(separator: ".", omittingEmptySubsequences: false).map { Array($0.utf8) })
    }

    /// Bytes of which the caller knows that they are a name.
    init(checked wire: [UInt8]) { self.wire = wire }

    /// - Throws: `DNSError` with `badName` when a label or the whole does not fit.
    package func prefixed(by label: [UInt8]) throws(DNSError) -> DNSName {
        guard (1...Self.labelBytesMax).contains(label.count), label.count + 1 + wire.count <= Self.bytesMax else {
            throw DNSError(.badName)
        }
        return DNSName(checked: [UInt8(label.count)] + label + wire)
    }

    /// The bytes of the first label; empty for the root.
    package var firstLabel: ArraySlice<UInt8> { wire[1..<max(1, Int(wire[0]) + 1)] }

    /// What follows the first label; nil for the root.
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
    // Lengths are below the letters, so that the bytes can be compared without a look at what each of them is.
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
