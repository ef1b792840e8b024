/// The name of a key or a journal by its bytes: a store tells names apart that Unicode calls equal.
package struct StoreName: Hashable, Comparable, Sendable, CustomStringConvertible {
    package let bytes: [UInt8]

    package init(_ text: String) { bytes = Array(text.utf8) }

    package init(bytes: [UInt8]) { self.bytes = bytes }

    package var description: String { String(decoding: bytes, as: UTF8.self) }

    package func starts(with prefix: String) -> Bool { bytes.starts(with: prefix.utf8) }

    // At once: an array's own way is byte by byte.
    package func hash(into hasher: inout Hasher) { bytes.withUnsafeBytes { hasher.combine(bytes: $0) } }

    package static func < (left: Self, right: Self) -> Bool { left.bytes.lexicographicallyPrecedes(right.bytes) }
}
