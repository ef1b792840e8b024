/// Why a transport did not begin.
public struct DeliveryError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Why it is thrown. Later versions may know more codes.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        enum Value: String {
            case alreadyStarted, invalidConfiguration
        }

        let value: Value

        init(_ value: Value) { self.value = value }

        /// `start` has been called before.
        public static let alreadyStarted = Code(.alreadyStarted)
        /// A limit makes no sense, or a link offers no lane.
        public static let invalidConfiguration = Code(.invalidConfiguration)

        public var description: String { value.rawValue }
    }

    /// What went wrong, to branch on.
    public let code: Code
    /// What happened, in words for people.
    public let message: String

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    public var description: String { "\(code): \(message)" }
}
