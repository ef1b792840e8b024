/// The enum cases that a writer has written as strings, so that a repeated case needs no string comparison.
///
/// A cache of 32 entries of 24 bytes. A new case replaces the one in its entry.
@usableFromInline
struct EnumCaseCache: ~Copyable {
    /// A case, and the number of the string that was written for it.
    private struct Case {
        var message: UInt64 = 0
        var owner: ObjectIdentifier
        var index: UInt32 = 0
        var byte: UInt8 = 0
    }

    private var cases: UnsafeMutablePointer<Case>?
    /// Number of the string that was written last; -1 if it has none.
    var last = -1

    private static var caseCount: Int { 32 }

    init() {}

    @usableFromInline deinit { cases?.deallocate() }

    /// - Parameter message: The message counter of the strings.
    /// - Returns: The number of the string that was written for that case; nil if there is none or its entry was replaced.
    @inline(__always)
    func index(ofCase byte: UInt8, _ owner: ObjectIdentifier, in message: UInt64) -> Int? {
        guard let cases else { return nil }
        let slot = cases + Self.slot(byte, owner)
        guard slot.pointee.message == message, slot.pointee.owner == owner, slot.pointee.byte == byte else {
            return nil
        }
        return Int(slot.pointee.index)
    }

    /// Remembers that the last string was written for that case.
    mutating func cacheCase(_ byte: UInt8, _ owner: ObjectIdentifier, in message: UInt64) {
        guard last >= 0 else { return }
        if cases == nil {
            cases = .allocate(capacity: Self.caseCount)
            cases?.initialize(repeating: Case(owner: owner), count: Self.caseCount)
        }
        cases?[Self.slot(byte, owner)] = Case(
            message: message, owner: owner, index: UInt32(truncatingIfNeeded: last), byte: byte)
    }

    @inline(__always)
    private static func slot(_ byte: UInt8, _ owner: ObjectIdentifier) -> Int {
        Int(truncatingIfNeeded: (UInt(bitPattern: owner) >> 4 &+ UInt(byte)) % UInt(caseCount))
    }
}

extension CompactWriter {
    /// Writes a reference to the string of a case, if the message already has it.
    /// - Returns: false, without writing, if the message doesn't have it.
    @usableFromInline
    mutating func writeRepeatedCase(_ byte: UInt8, of owner: ObjectIdentifier, as head: WireHead) -> Bool {
        guard let index = cases.index(ofCase: byte, owner, in: strings.message) else { return false }
        bytes.reserve(Self.headBytesMax + 10)
        writeHead(head, .repeatedString)
        bytes.appendVarint(UInt64(truncatingIfNeeded: index))
        return true
    }

    @usableFromInline
    mutating func cacheCase(_ byte: UInt8, of owner: ObjectIdentifier) {
        cases.cacheCase(byte, owner, in: strings.message)
    }
}
