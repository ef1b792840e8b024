import MeshIdentity

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A decimal as it lies in memory. Foundation does not say how long it holds one to be, which its own coding writes.
struct DecimalParts: BitwiseCopyable {
    typealias Mantissa = (UInt16, UInt16, UInt16, UInt16, UInt16, UInt16, UInt16, UInt16)

    var exponent: Int8
    var lengthAndFlags: UInt8
    var reserved: UInt16 = 0
    /// The lowest first.
    var mantissa: Mantissa

    static var digitCount: Int { 8 }
}

/// Where the second byte of a decimal has what.
struct DecimalLayout {
    /// The length takes four bits.
    let lengthShift: UInt8
    let negativeBit: UInt8
    let compactBit: UInt8

    func length(of parts: DecimalParts) -> UInt8 { parts.lengthAndFlags >> lengthShift & 0xf }
    func isNegative(_ parts: DecimalParts) -> Bool { parts.lengthAndFlags & negativeBit != 0 }
    func isCompact(_ parts: DecimalParts) -> Bool { parts.lengthAndFlags & compactBit != 0 }

    /// - Parameter length: at most 15.
    func decimal(
        exponent: Int8, length: UInt8, isNegative: Bool, isCompact: Bool, mantissa: DecimalParts.Mantissa
    ) -> Decimal {
        let flags = length << lengthShift | (isNegative ? negativeBit : 0) | (isCompact ? compactBit : 0)
        let parts = DecimalParts(exponent: exponent, lengthAndFlags: flags, mantissa: mantissa)
        return unsafeBitCast(parts, to: Decimal.self)
    }
}

extension DecimalLayout {
    /// This Foundation's, for which its own coding is asked once; nil when it is none of those that are known. Decimals
    /// then go through that coding.
    static let known: DecimalLayout? = {
        guard MemoryLayout<Decimal>.size == MemoryLayout<DecimalParts>.size else { return nil }
        let samples = [
            Sample(exponent: -3, length: 5, isNegative: true, isCompact: false),
            Sample(exponent: 7, length: 8, isNegative: false, isCompact: true),
        ]
        let layouts = [
            DecimalLayout(lengthShift: 4, negativeBit: 0x08, compactBit: 0x04),
            DecimalLayout(lengthShift: 0, negativeBit: 0x10, compactBit: 0x20),
        ]
        return layouts.first { layout in samples.allSatisfy { (try? $0.isLaidOut(as: layout)) == true } }
    }()

    private struct Sample: Encodable {
        var exponent: Int8
        var length: UInt8
        var isNegative: Bool
        var isCompact: Bool
        var mantissa: [UInt16] = [1, 2, 3, 4, 5, 6, 7, 0x8009]

        func isLaidOut(as layout: DecimalLayout) throws -> Bool {
            let codec = CompactCodec(usesDirectPath: false)
            let coded = try codec.decode(OwnCoding.self, from: codec.encode(self)).decimal
            let made = layout.decimal(
                exponent: exponent, length: length, isNegative: isNegative, isCompact: isCompact,
                mantissa: (1, 2, 3, 4, 5, 6, 7, 0x8009))
            return withUnsafeBytes(of: coded) { coded in withUnsafeBytes(of: made) { coded.elementsEqual($0) } }
        }
    }

    private struct OwnCoding: Decodable {
        let decimal: Decimal

        init(from decoder: any Decoder) throws { decimal = try Decimal(from: decoder) }
    }
}
