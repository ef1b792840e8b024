/// A type that is written as one CBOR value without Codable.
protocol CBORScalar {
    func write(to writer: inout WireWriter)
    static func read(at entry: UInt32, of index: borrowing CBORIndex) throws(WireError) -> Self
}

/// Arrays of such types.
protocol CBORScalarList {
    func writeList(to writer: inout WireWriter)
    static func readList(at entry: UInt32, of index: borrowing CBORIndex) throws(WireError) -> Self
}

extension Array: CBORScalarList where Element: CBORScalar {
    func writeList(to writer: inout WireWriter) {
        writer.writeHead(.list, UInt64(count))
        for element in self { element.write(to: &writer) }
    }

    static func readList(at entry: UInt32, of index: borrowing CBORIndex) throws(WireError) -> [Element] {
        let value = try index.value(at: entry)
        guard value.head.major == .list else { throw value.mismatch(Self.self) }
        var elements: [Element] = []
        elements.reserveCapacity(index.count(of: entry, value.head))
        var element = entry + 1
        let end = index.entry(behind: entry)
        while element < end {
            do throws(WireError) {
                elements.append(try Element.read(at: element, of: index))
            } catch {
                throw error.within("\(elements.count)")
            }
            element = index.entry(behind: element)
        }
        return elements
    }
}

// MARK: - Simple values, text, floating point

extension Bool: CBORScalar {
    func write(to writer: inout WireWriter) {
        writer.writeSimple(self ? CBORHead.Simple.yes : CBORHead.Simple.no)
    }

    static func read(at entry: UInt32, of index: borrowing CBORIndex) throws(WireError) -> Bool {
        let value = try index.value(at: entry)
        guard value.head.major == .simple else { throw value.mismatch(Self.self) }
        switch value.head.info {
        case CBORHead.Simple.yes: return true
        case CBORHead.Simple.no: return false
        default: throw value.mismatch(Self.self)
        }
    }
}

extension String: CBORScalar {
    func write(to writer: inout WireWriter) { writer.writeText(self) }

    static func read(at entry: UInt32, of index: borrowing CBORIndex) throws(WireError) -> String {
        let value = try index.value(at: entry)
        guard value.head.major == .text else { throw value.mismatch(Self.self) }
        return try value.text()
    }
}

extension CBORValue {
    func text() throws(WireError) -> String {
        try withContent { content throws(WireError) in
            guard let text = String(validating: content, as: UTF8.self) else {
                throw WireError(.corrupted, "a string is not valid UTF-8")
            }
            return text
        }
    }

    /// A floating-point number, or an integer that a `Double` holds exactly: many writers shorten 1.0 to 1.
    func double(for wanted: Any.Type) throws(WireError) -> Double {
        let exact: Double?
        switch head.major {
        case .unsigned: exact = Double(exactly: head.argument)
        case .negative: exact = head.argument == .max ? -0x1p64 : Double(exactly: head.argument + 1).map { -$0 }
        case .simple:
            switch head.info {
            case CBORHead.Simple.double: return Double(bitPattern: head.argument)
            case CBORHead.Simple.single:
                return Double(bitPattern: CBORFloat.double(single: UInt32(truncatingIfNeeded: head.argument)))
            case CBORHead.Simple.half:
                return Double(bitPattern: CBORFloat.double(half: UInt16(truncatingIfNeeded: head.argument)))
            default: throw mismatch(wanted)
            }
        default: throw mismatch(wanted)
        }
        guard let exact else { throw WireError(.invalidValue, "an integer is not exactly a \(wanted)") }
        return exact
    }
}

extension Double: CBORScalar {
    func write(to writer: inout WireWriter) { writer.writeFloat(self) }

    static func read(at entry: UInt32, of index: borrowing CBORIndex) throws(WireError) -> Double {
        try index.value(at: entry).double(for: Self.self)
    }
}

extension Float: CBORScalar {
    func write(to writer: inout WireWriter) { writer.writeSingle(bitPattern) }

    /// A number of double width is rounded; one that would become infinite is refused.
    static func read(at entry: UInt32, of index: borrowing CBORIndex) throws(WireError) -> Float {
        let double = try index.value(at: entry).double(for: Self.self)
        if let bits = CBORFloat.single(double.bitPattern) { return Float(bitPattern: bits) }
        let rounded = Float(double)
        guard !rounded.isInfinite else { throw WireError(.invalidValue, "\(double) is too large for Float") }
        return rounded
    }
}

// MARK: - Integers

extension CBORScalar where Self: FixedWidthInteger {
    @inline(__always)
    func write(to writer: inout WireWriter) {
        if let argument = UInt64(exactly: self) {
            writer.writeHead(.unsigned, argument)
        } else if let argument = UInt64(exactly: ~self), self < 0 {
            writer.writeHead(.negative, argument)
        } else {
            let argument = self < 0 ? ~self : self
            writer.writeInteger(
                isNegative: self < 0,
                argument: (UInt64(truncatingIfNeeded: argument >> 64), UInt64(truncatingIfNeeded: argument)))
        }
    }

    @inline(__always)
    static func read(at entry: UInt32, of index: borrowing CBORIndex) throws(WireError) -> Self {
        let value = try index.value(at: entry)
        let exact: Self? =
            switch value.head.major {
            case .unsigned: Self(exactly: value.head.argument)
            case .negative: isSigned ? Self(exactly: value.head.argument).map { ~$0 } : nil
            default: try bignum(value)
            }
        guard let exact else { throw WireError(.invalidValue, "an integer does not fit in \(Self.self)") }
        return exact
    }

    @inline(never)
    private static func bignum(_ value: CBORValue) throws(WireError) -> Self? {
        guard let isNegative = value.bignumIsNegative else { throw value.mismatch(Self.self) }
        return try value.withContent { content throws(WireError) in
            let digits = content.drop { $0 == 0 }
            guard digits.count <= MemoryLayout<Self>.size, !isNegative || isSigned else { return nil }
            let magnitude = digits.reduce(into: Magnitude.zero) { $0 = ($0 << 8) | Magnitude($1) }
            return Self(exactly: magnitude).map { isNegative ? ~$0 : $0 }
        }
    }
}

extension CBORValue {
    /// Nil when this is not the byte string of a bignum.
    var bignumIsNegative: Bool? {
        guard head.major == .bytes else { return nil }
        return tag == CBORHead.Tag.bignum ? false : tag == CBORHead.Tag.negativeBignum ? true : nil
    }
}

extension Int: CBORScalar {}
extension Int8: CBORScalar {}
extension Int16: CBORScalar {}
extension Int32: CBORScalar {}
extension Int64: CBORScalar {}
extension UInt: CBORScalar {}
extension UInt8: CBORScalar {}
extension UInt16: CBORScalar {}
extension UInt32: CBORScalar {}
extension UInt64: CBORScalar {}

@available(macOS 15, iOS 18, watchOS 11, tvOS 18, visionOS 2, *)
extension Int128: CBORScalar {}

@available(macOS 15, iOS 18, watchOS 11, tvOS 18, visionOS 2, *)
extension UInt128: CBORScalar {}
