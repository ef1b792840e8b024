#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Seconds since 2001 as a floating-point number, as Codable has it. Tag 1 counts from 1970 and would round the fraction:
/// the same number of bits, and a larger number before the point. Tag 1 is read.
extension Date: CBORScalar {
    func write(to writer: inout WireWriter) { writer.writeFloat(timeIntervalSinceReferenceDate) }

    static func read(at entry: UInt32, of index: borrowing CBORIndex) throws(WireError) -> Date {
        let value = try index.value(at: entry)
        let seconds = try value.double(for: Self.self)
        return value.tag == CBORHead.Tag.epochTime
            ? Date(timeIntervalSince1970: seconds) : Date(timeIntervalSinceReferenceDate: seconds)
    }
}

/// Tag 37, 16 bytes. Without the tag they are read too.
extension UUID: CBORScalar {
    func write(to writer: inout WireWriter) {
        writer.writeHead(.tag, CBORHead.Tag.uuid)
        writer.writeHead(.bytes, 16)
        writer.write(self)
    }

    static func read(at entry: UInt32, of index: borrowing CBORIndex) throws(WireError) -> UUID {
        let value = try index.value(at: entry)
        guard value.head.major == .bytes else { throw value.mismatch(Self.self) }
        return try value.withContent { content throws(WireError) in
            guard content.count == 16 else { throw WireError(.invalidValue, "a UUID of \(content.count) bytes") }
            return UUID(uuid: content.loadUnaligned(as: uuid_t.self))
        }
    }
}

/// A byte string.
extension Data: CBORScalar {
    func write(to writer: inout WireWriter) {
        withUnsafeBytes { bytes in
            writer.writeHead(.bytes, UInt64(bytes.count))
            writer.writeRaw(bytes)
        }
    }

    static func read(at entry: UInt32, of index: borrowing CBORIndex) throws(WireError) -> Data {
        let value = try index.value(at: entry)
        guard value.head.major == .bytes else { throw value.mismatch(Self.self) }
        return try value.withContent { content in Data(content) }
    }
}

/// Tag 4: exponent of ten and mantissa, without zeros at the mantissa's end, so that equal numbers are equal bytes. NaN is
/// that of floating point. Integers are read too.
extension Decimal: CBORScalar {
    func write(to writer: inout WireWriter) {
        if isNaN { return writer.writeFloat(.nan) }
        let (exponent, mantissa) = decimalDigits
        var argument: (high: UInt64, low: UInt64) = (0, 0)
        for digit in mantissa {
            let (high, low) = argument.low.multipliedFullWidth(by: 10)
            let (sum, carry) = low.addingReportingOverflow(UInt64(digit))
            argument = (argument.high &* 10 &+ high &+ (carry ? 1 : 0), sum)
        }
        let isNegative = self < 0
        if isNegative {
            argument = (argument.high &- (argument.low == 0 ? 1 : 0), argument.low &- 1)
        }
        writer.writeHead(.tag, CBORHead.Tag.decimal)
        writer.writeHead(.list, 2)
        exponent.write(to: &writer)
        writer.writeInteger(isNegative: isNegative, argument: argument)
    }

    static func read(at entry: UInt32, of index: borrowing CBORIndex) throws(WireError) -> Decimal {
        let value = try index.value(at: entry)
        guard value.tag == CBORHead.Tag.decimal, value.head.major == .list else { return try integer(value) }
        guard index.count(of: entry, value.head) == 2 else {
            throw WireError(.invalidValue, "a decimal fraction has an exponent and a mantissa")
        }
        let mantissa = try integer(index.value(at: index.entry(behind: entry + 1)))
        let exponent = try Int.read(at: entry + 1, of: index)
        if mantissa == 0 { return 0 }
        let range = Int(Int8.min)...Int(Int8.max)
        let decimal =
            range.contains(exponent) ? Decimal(sign: .plus, exponent: exponent, significand: mantissa) : .nan
        guard !decimal.isNaN, decimal != 0 else {
            throw WireError(.invalidValue, "a decimal fraction does not fit in Decimal")
        }
        return decimal
    }

    /// What the description spells, first digit first.
    private var decimalDigits: (exponent: Int, mantissa: [UInt8]) {
        var exponent = 0
        var digits: [UInt8] = []
        var isFraction = false
        for character in description.utf8 {
            if character == UInt8(ascii: ".") { isFraction = true }
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(character) else { continue }
            digits.append(character - UInt8(ascii: "0"))
            if isFraction { exponent -= 1 }
        }
        while digits.last == 0 {
            digits.removeLast()
            exponent += 1
        }
        return digits.isEmpty ? (0, []) : (exponent, digits)
    }

    private static func integer(_ value: CBORValue) throws(WireError) -> Decimal {
        switch value.head.major {
        case .unsigned: return Decimal(value.head.argument)
        case .negative: return -1 - Decimal(value.head.argument)
        case .bytes:
            guard let isNegative = value.bignumIsNegative else { throw value.mismatch(Self.self) }
            return try value.withContent { content throws(WireError) in
                let digits = content.drop { $0 == 0 }
                // One less than the least of 128 bits has 129.
                let isTooWide =
                    digits.count > 16 || isNegative && digits.count == 16 && digits.allSatisfy { $0 == 0xff }
                guard !isTooWide else {
                    throw WireError(.invalidValue, "an integer does not fit in Decimal")
                }
                let magnitude = digits.reduce(into: Decimal(0)) { $0 = $0 * 256 + Decimal(Int($1)) }
                return isNegative ? -1 - magnitude : magnitude
            }
        case .simple where (try? value.double(for: Self.self).isNaN) == true: return .nan
        default: throw value.mismatch(Self.self)
        }
    }
}

/// Tag 32, the text of a link that stands alone; a relative one with its base is written as Codable has it.
extension CBORValue {
    func link() throws(WireError) -> URL {
        let text = try text()
        guard let link = URL(string: text) else { throw WireError(.invalidValue, "a text is not a URL") }
        return link
    }
}

extension WireWriter {
    /// - Returns: false, without writing, for a link that is relative to another.
    mutating func writeLink(_ link: URL) -> Bool {
        guard link.baseURL == nil else { return false }
        writeHead(.tag, CBORHead.Tag.link)
        writeText(link.absoluteString)
        return true
    }
}
