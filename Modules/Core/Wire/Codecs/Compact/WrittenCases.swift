/// The enum cases that a message has written as strings, so that one that comes again needs no string at all.
///
/// 32 places of 32 bytes; the newest case wins its place.
@usableFromInline
struct WrittenCases: ~Copyable {
    /// Which string a case of an enum was written as.
    private struct Case {
        var message: UInt64 = 0
        var owner: ObjectIdentifier
        var index: UInt32 = 0
        var byte: UInt8 = 0
    }

    private var cases: UnsafeMutablePointer<Case>?
    /// The number of the string that was written last; -1 when it has none.
    var last = -1

    private static var caseCount: Int { 32 }

    init() {}

    @usableFromInline deinit { cases?.deallocate() }

    /// - Parameter message: that of the strings.
    /// - Returns: the number of the string that a case of that enum was written as; nil also when another case has
    ///   taken its place.
    @inline(__always)
    func index(ofCase byte: UInt8, _ owner: ObjectIdentifier, in message: UInt64) -> Int? {
        guard let cases else { return nil }
        let place = cases + Self.place(byte, owner)
        guard place.pointee.message == message, place.pointee.owner == owner, place.pointee.byte == byte else {
            return nil
        }
        return Int(place.pointee.index)
    }

    /// The string that was written last was that case.
    mutating func noteCase(_ byte: UInt8, _ owner: ObjectIdentifier, in message: UInt64) {
        guard last >= 0 else { return }
        if cases == nil {
            cases = .allocate(capacity: Self.caseCount)
            cases?.initialize(repeating: Case(owner: owner), count: Self.caseCount)
        }
        cases?[Self.place(byte, owner)] = Case(
            message: message, owner: owner, index: UInt32(truncatingIfNeeded: last), byte: byte)
    }

    @inline(__always)
    private static func place(_ byte: UInt8, _ owner: ObjectIdentifier) -> Int {
        Int(truncatingIfNeeded: (UInt(bitPattern: owner) >> 4 &+ UInt(byte)) % UInt(caseCount))
    }
}

extension CompactWriter {
    /// Writes a case that this message holds already as a string.
    /// - Returns: false when it does not, and nothing was written.
    @usableFromInline
    mutating func writeRepeatedCase(_ byte: UInt8, of owner: ObjectIdentifier, as head: WireHead) -> Bool {
        guard let index = cases.index(ofCase: byte, owner, in: strings.message) else { return false }
        bytes.reserve(Self.headBytesMax + 10)
        writeHead(head, .repeatedString)
        bytes.appendVarint(UInt64(truncatingIfNeeded: index))
        return true
    }

    @usableFromInline
    mutating func noteCase(_ byte: UInt8, of owner: ObjectIdentifier) {
        cases.noteCase(byte, owner, in: strings.message)
    }
}
