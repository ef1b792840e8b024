public import MeshBase

/// Why a transport could not be made.
public struct DeliveryError: CodedError, Hashable {
    /// Why it is thrown. Later versions may know more codes.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        public let description: String

        /// A limit makes no sense, or a link offers no lane.
        public static let invalidConfiguration = Code(description: "invalidConfiguration")
    }

    public let code: Code
    public let message: String

    init(_ code: Code, _ message: String) {
        (self.code, self.message) = (code, message)
    }

    public var advice: String { "Correct the DeliveryConfiguration, or use a link with larger lanes." }
}
