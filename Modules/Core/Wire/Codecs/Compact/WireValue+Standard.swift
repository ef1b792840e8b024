public import MeshFoundation

/// A type of the standard library or Foundation whose direct and Codable forms are the same bytes. The Codable path
/// writes its values on the faster direct path.
protocol StandardWireValue: WireValue {}

extension Bool: WireValue {
    @inlinable public static var wireKind: WireKind { .true }

    @inlinable @inline(__always)
    public func write(to writer: inout CompactWriter, as head: WireHead) { writer.write(self, as: head) }

    @inlinable @inline(__always)
    public init(wire kind: WireKind, from reader: inout CompactReader) throws(WireError) {
        self = try reader.readBool(kind)
    }
}

extension Double: WireValue {
    @inlinable public static var wireKind: WireKind { .double }

    @inlinable @inline(__always)
    public func write(to writer: inout CompactWriter, as head: WireHead) { writer.write(self, as: head) }

    @inlinable @inline(__always)
    public init(wire kind: WireKind, from reader: inout CompactReader) throws(WireError) {
        self = try reader.readDouble(kind)
    }

    @inlinable
    public static func writeList(_ values: [Double], to writer: inout CompactWriter, as head: WireHead) {
        let hasNaN = writer.isDeterministic && values.contains(where: \.isNaN)
        writer.writeBlock(hasNaN ? values.map { $0.isNaN ? .nan : $0 } : values, .doubles, as: head)
    }

    @inlinable
    public static func readList(_ kind: WireKind, from reader: inout CompactReader) throws(WireError) -> [Double] {
        try reader.readBlock(kind, .doubles)
    }
}

extension Float: WireValue {
    @inlinable public static var wireKind: WireKind { .float }

    @inlinable @inline(__always)
    public func write(to writer: inout CompactWriter, as head: WireHead) { writer.write(self, as: head) }

    @inlinable @inline(__always)
    public init(wire kind: WireKind, from reader: inout CompactReader) throws(WireError) {
        self = try reader.readFloat(kind)
    }

    @inlinable
    public static func writeList(_ values: [Float], to writer: inout CompactWriter, as head: WireHead) {
        let hasNaN = writer.isDeterministic && values.contains(where: \.isNaN)
        writer.writeBlock(hasNaN ? values.map { $0.isNaN ? .nan : $0 } : values, .floats, as: head)
    }

    @inlinable
    public static func readList(_ kind: WireKind, from reader: inout CompactReader) throws(WireError) -> [Float] {
        try reader.readBlock(kind, .floats)
    }
}

extension String: WireValue {
    @inlinable public static var wireKind: WireKind { .string }

    @inlinable @inline(__always)
    public func write(to writer: inout CompactWriter, as head: WireHead) { writer.write(self, as: head) }

    @inlinable @inline(__always)
    public init(wire kind: WireKind, from reader: inout CompactReader) throws(WireError) {
        self = try reader.readString(kind)
    }
}

extension UUID: WireValue {
    @inlinable public static var wireKind: WireKind { .uuid }

    @inlinable @inline(__always)
    public func write(to writer: inout CompactWriter, as head: WireHead) { writer.write(self, as: head) }

    @inlinable @inline(__always)
    public init(wire kind: WireKind, from reader: inout CompactReader) throws(WireError) {
        self = try reader.readUUID(kind)
    }

    @inlinable
    public static func writeList(_ values: [UUID], to writer: inout CompactWriter, as head: WireHead) {
        writer.writeBlock(values, .uuids, as: head)
    }

    @inlinable
    public static func readList(_ kind: WireKind, from reader: inout CompactReader) throws(WireError) -> [UUID] {
        try reader.readBlock(kind, .uuids)
    }
}

/// Written as seconds since 2001 in a `Double`. Foundation stores the same number, so nothing is lost.
extension Date: WireValue {
    @inlinable public static var wireKind: WireKind { .double }

    @inlinable @inline(__always)
    public func write(to writer: inout CompactWriter, as head: WireHead) {
        writer.write(timeIntervalSinceReferenceDate, as: head)
    }

    @inlinable @inline(__always)
    public init(wire kind: WireKind, from reader: inout CompactReader) throws(WireError) {
        self.init(timeIntervalSinceReferenceDate: try reader.readDouble(kind))
    }

    @inlinable
    public static func writeList(_ values: [Date], to writer: inout CompactWriter, as head: WireHead) {
        writer.writeBlock(values.map(\.timeIntervalSinceReferenceDate), .doubles, as: head)
    }

    @inlinable
    public static func readList(_ kind: WireKind, from reader: inout CompactReader) throws(WireError) -> [Date] {
        try Double.readList(kind, from: &reader).map { Date(timeIntervalSinceReferenceDate: $0) }
    }
}

extension Data: WireValue {
    @inlinable public static var wireKind: WireKind { .bytes }

    public func write(to writer: inout CompactWriter, as head: WireHead) {
        withUnsafeBytes { writer.write($0, as: head) }
    }

    public init(wire kind: WireKind, from reader: inout CompactReader) throws(WireError) {
        self = kind == .bytes ? Data(try reader.readBytes(kind)) : Data(try UInt8.readList(kind, from: &reader))
    }
}

extension Bool: StandardWireValue {}
extension Double: StandardWireValue {}
extension Float: StandardWireValue {}
extension String: StandardWireValue {}
extension UUID: StandardWireValue {}
extension Date: StandardWireValue {}
extension Data: StandardWireValue {}

// MARK: - Blocks

extension CompactWriter {
    /// Writes a block of values whose memory layout is that of the wire: bitwise copyable, little-endian.
    @inlinable
    mutating func writeBlock<Element: BitwiseCopyable>(_ values: [Element], _ kind: WireKind, as head: WireHead) {
        values.withUnsafeBytes { writeBlock($0, count: values.count, kind, as: head) }
    }

    @inlinable
    mutating func writeBlock(_ values: [UUID], _ kind: WireKind, as head: WireHead) {
        values.withUnsafeBytes { writeBlock($0, count: values.count, kind, as: head) }
    }
}

extension CompactReader {
    /// Reads a block, or a list in any other form.
    @inlinable
    mutating func readBlock<Element: WireValue>(_ kind: WireKind, _ wanted: WireKind) throws(WireError) -> [Element] {
        guard kind == wanted else { return kind == .list ? try readElements() : try readExpanded(kind) }
        let width = MemoryLayout<Element>.stride
        let count = try readCount(width: width)
        let source = try bytes.readRaw(count * width)
        return [Element](unsafeUninitializedCapacity: count) { buffer, initialized in
            UnsafeMutableRawBufferPointer(buffer).copyMemory(from: source)
            initialized = count
        }
    }
}
