/// The name of a key or a journal, compared by bytes: a store distinguishes names that Unicode considers equal.
package struct StoreName: Hashable, Comparable, Sendable, CustomStringConvertible {
    package let bytes: [UInt8]

    package init(_ text: String) { bytes = Array(text.utf8) }

    package init(bytes: [UInt8]) { self.bytes = bytes }

    package var description: String { String(decoding: bytes, as: UTF8.self) }

    package func starts(with prefix: String) -> Bool { bytes.starts(with: prefix.utf8) }

    // All bytes at once: an array would hash each byte separately.
    package func hash(into hasher: inout Hasher) { bytes.withUnsafeBytes { hasher.combine(bytes: $0) } }

    package static func < (left: Self, right: Self) -> Bool { left.bytes.lexicographicallyPrecedes(right.bytes) }
}
