#if MQTT
    public import MeshBase

    /// Why there is no link over a broker, or no pairing.
    public struct MQTTError: CodedError {
        /// Why it is thrown. Later versions may know more codes.
        public struct Code: Hashable, Sendable, CustomStringConvertible {
            public let description: String

            /// A broker, a file or an identity that no client can be made with.
            public static let invalidArgument = Code(description: "invalidArgument")
            /// This process may open no more files and sockets; `cause` is what the system says.
            public static let noDescriptor = Code(description: "noDescriptor")
            /// The broker does not let this client do what it must.
            public static let refused = Code(description: "refused")
            /// The other device didn't come to the pairing in time.
            public static let timedOut = Code(description: "timedOut")
            /// The other side of the pairing said something wrong; `cause` is what.
            public static let notPaired = Code(description: "notPaired")
        }

        public let code: Code
        public let message: String
        public let cause: (any Error)?

        init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
            (self.code, self.message, self.cause) = (code, message, cause)
        }

        public var advice: String {
            switch code {
            case .invalidArgument:
                "Check the broker's address, its certificates and the identity; make a new object for each start."
            case .noDescriptor: "Close files and sockets, or raise the limit of open files."
            case .refused: "Check the user name, the password and the rights that the broker grants."
            case .timedOut: "Check the broker's address, open pairing on both devices, then try again."
            default: "Pair the two devices again."
            }
        }
    }
#endif
