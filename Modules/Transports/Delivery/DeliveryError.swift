/// Why a transport did not begin.
public struct DeliveryError: Error, Hashable, Sendable, CustomStringConvertible {
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

    public let code: Code
    public let message: String

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    public var description: String { "\(code): \(message)" }
}
