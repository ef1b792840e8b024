#if MQTT
    public import MeshBase

    /// An error of a link or a pairing over a broker.
    public struct MQTTError: CodedError {
        /// The reason for an error. Later versions may add codes.
        public struct Code: Hashable, Sendable, CustomStringConvertible {
            public let description: String

            /// The address, a file or the identity is unusable.
            public static let invalidArgument = Code(description: "invalidArgument")
            /// The process can't open more files and sockets. `cause` is the system's error.
            public static let noDescriptor = Code(description: "noDescriptor")
            /// The broker refuses something that this client needs.
            public static let refused = Code(description: "refused")
            /// The other device didn't join the pairing in time.
            public static let timedOut = Code(description: "timedOut")
            /// The other device sent an invalid pairing message. `cause` has the details.
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
                "Check the broker's address, its certificates and the identity; create a new object for each start."
            case .noDescriptor: "Close files and sockets, or raise the limit of open files."
            case .refused: "Check the user name, the password and the rights that the broker grants."
            case .timedOut: "Check the broker's address, open pairing on both devices, then try again."
            default: "Pair the two devices again."
            }
        }
    }
#endif
