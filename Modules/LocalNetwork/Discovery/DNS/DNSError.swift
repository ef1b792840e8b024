/// What is wrong with the bytes of a message, or with a name.
package struct DNSError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Code: String, Sendable {
        /// The bytes end before what they announce.
        case truncated
        /// More bytes, names or records than are read of one message.
        case tooLarge
        /// A label of more than 63 bytes, a name of more than 255, or a length that means nothing.
        case badName
        /// A compression pointer that does not point backward.
        case badPointer
        /// Data that do not have the form of their type.
        case badData
    }

    package let code: Code
    /// Where in the message.
    package let offset: Int

    package init(_ code: Code, at offset: Int = 0) {
        self.code = code
        self.offset = offset
    }

    package var description: String { "\(code.rawValue) at byte \(offset)" }
}
