#if MQTT
    /// Why there is no link over a broker, or no pairing. The message says what to do next.
    public struct MQTTError: Error, Sendable, CustomStringConvertible {
        /// Why it is thrown. Later versions may know more codes.
        public struct Code: Hashable, Sendable, CustomStringConvertible {
            enum Value: String {
                case invalidArgument, noDescriptor, refused, timedOut, notPaired
            }

            let value: Value

            /// A broker, a file or an identity that no client can be made with.
            public static let invalidArgument = Code(value: .invalidArgument)
            /// This process may open no more files and sockets; `cause` is what the system says.
            public static let noDescriptor = Code(value: .noDescriptor)
            /// The broker does not let this client do what it must.
            public static let refused = Code(value: .refused)
            /// Nobody came to the pairing.
            public static let timedOut = Code(value: .timedOut)
            /// The other side of the pairing said something wrong; `cause` is what.
            public static let notPaired = Code(value: .notPaired)

            public var description: String { value.rawValue }
        }

        /// What went wrong, to branch on.
        public let code: Code
        /// What happened, in words for people.
        public let message: String
        /// The error underneath, where there is one.
        public let cause: (any Error)?

        init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
            self.code = code
            self.message = message
            self.cause = cause
        }

        public var description: String { "\(code): \(message)" }
    }
#endif
