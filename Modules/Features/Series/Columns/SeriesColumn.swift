package import MeshWire

/// The description of one number of a sample: a field, or a field of a nested struct.
package struct SeriesColumn: Hashable, Sendable, Codable {
    package enum Kind: UInt8, Sendable, Codable {
        /// `Int` of any width.
        case integer = 1
        /// `UInt` of any width.
        case unsigned
        /// `Double` and `Float`, as a `Double`.
        case float
        case bool
        /// Seconds since 2001 as a `Double`.
        case date
    }

    /// Field names joined by dots; empty if the sample itself is the number.
    package var name: String
    package var kind: Kind

    package init(name: String, kind: Kind) {
        self.name = name
        self.kind = kind
    }
}

extension [SeriesColumn] {
    /// A 64-bit hash of the columns' names and kinds.
    package var digest: UInt64 {
        var digest = NameDigest()
        for column in self {
            digest.add(column.name)
            digest.add(column.kind.rawValue)
        }
        return digest.value
    }

    /// - Throws: `WireError.Code.oversized` for too many columns or too long a name.
    package func checked() throws(WireError) -> Self {
        guard count <= SeriesLimits.columnsMax else {
            throw WireError(.oversized, "a sample has more than \(SeriesLimits.columnsMax) numbers")
        }
        guard allSatisfy({ $0.name.utf8.count <= SeriesLimits.columnNameBytesMax }) else {
            throw WireError(.oversized, "a field's name has more than \(SeriesLimits.columnNameBytesMax) bytes")
        }
        return self
    }
}

/// The 64-bit hash FNV-1a (Fowler, Noll, Vo). A peer can construct names that collide, but harms only its own series.
struct NameDigest {
    private(set) var value: UInt64 = 0xCBF2_9CE4_8422_2325

    mutating func add(_ byte: UInt8) { value = (value ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }

    mutating func add(_ name: String) {
        for byte in name.utf8 { add(byte) }
        add(0 as UInt8)
    }

    mutating func add(_ number: UInt64) {
        for shift in stride(from: 0, to: 64, by: 8) { add(UInt8(truncatingIfNeeded: number >> shift)) }
    }
}
