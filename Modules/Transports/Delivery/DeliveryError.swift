public import MeshBase

/// Why a transport did not begin.
public struct DeliveryError: CodedError, Hashable {
    /// Why it is thrown. Later versions may know more codes.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        public let description: String

        /// `start` has been called before.
        public static let alreadyStarted = Code(description: "alreadyStarted")
        /// A limit makes no sense, or a link offers no lane.
        public static let invalidConfiguration = Code(description: "invalidConfiguration")
    }

    public let code: Code
    public let message: String

    init(_ code: Code, _ message: String) {
        (self.code, self.message) = (code, message)
    }

    public var advice: String {
        switch code {
        case .alreadyStarted: "Make a new transport for each start."
        default: "Correct the DeliveryConfiguration, or use a link with larger lanes."
        }
    }
}
