public import MeshBase

/// An error in the setup of a transport.
public struct DeliveryError: CodedError, Hashable {
    /// The reason for the error. Later versions may add codes.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        public let description: String

        /// A setting is out of range, the link has no lane, or a lane is too small for a frame.
        public static let invalidConfiguration = Code(description: "invalidConfiguration")
    }

    public let code: Code
    public let message: String

    init(_ code: Code, _ message: String) {
        (self.code, self.message) = (code, message)
    }

    public var advice: String { "Correct the DeliveryConfiguration, or use a link with larger lanes." }
}
