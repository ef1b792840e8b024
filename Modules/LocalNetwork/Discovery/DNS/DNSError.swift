/// An error in the bytes of a message, or in a name.
package struct DNSError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Code: String, Sendable {
        /// The message ends earlier than its lengths and counts announce.
        case truncated
        /// The message exceeds the limits for bytes or for names.
        case tooLarge
        /// A label of more than 63 bytes, a name of more than 255, or an undefined kind of label.
        case badName
        /// A compression pointer that doesn't point backward.
        case badPointer
        /// The data of a record doesn't have the format of the record's type.
        case badData
    }

    package let code: Code
    /// The position in the message, in bytes.
    package let offset: Int

    package init(_ code: Code, at offset: Int = 0) {
        self.code = code
        self.offset = offset
    }

    package var description: String { "\(code.rawValue) at byte \(offset)" }
}
