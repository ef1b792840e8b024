#if UDP || MQTT || WebSocket
    public import MeshBase

    /// An error of an identity or of the list of trusted peers. Its message says what to do next.
    public struct SecurityError: CodedError {
        /// The reason for a ``SecurityError``. Later versions may add codes.
        public struct Code: Hashable, Sendable, CustomStringConvertible {
            public let description: String

            /// Other users can read or change the file, or it isn't a regular file. The library didn't use its content.
            public static let notPrivate = Code(description: "notPrivate")
            /// The stored bytes aren't those that were written. The library doesn't change them.
            public static let damaged = Code(description: "damaged")
            /// A newer version of the library has written the file. This version doesn't change it.
            public static let newerVersion = Code(description: "newerVersion")
            /// The folder doesn't exist.
            public static let missing = Code(description: "missing")
            /// The maximum number of peers or of administrators has been reached.
            public static let full = Code(description: "full")
            /// No peer with that ID is trusted.
            public static let unknownPeer = Code(description: "unknownPeer")
            /// The system refused an operation. `errorNumber` says why.
            public static let systemCallFailed = Code(description: "systemCallFailed")
            /// A file name or a certificate date is invalid.
            public static let invalidArgument = Code(description: "invalidArgument")
        }

        public let code: Code
        public let message: String
        /// The system's error number, or 0 if no system call failed.
        public let errorNumber: Int32

        package init(_ code: Code, _ message: String, errorNumber: Int32 = 0) {
            (self.code, self.message, self.errorNumber) = (code, message, errorNumber)
        }

        /// The advice for the code; empty if each message of that code contains its own.
        public var advice: String {
            switch code {
            case .systemCallFailed: "Check that the device is unlocked and has free space, then try again."
            case .unknownPeer: "Choose one of the peers that are paired with this device."
            case .invalidArgument: "Use a valid file name, valid dates and an identity that this library created."
            default: ""
            }
        }
    }

    typealias PrivateFile = MeshBase.PrivateFile<SecurityError>

    extension SecurityError: PrivateFileFailure {
        package init(_ problem: PrivateFileProblem, _ message: String, errorNumber: Int32) {
            let code: Code =
                switch problem {
                case .noName: .invalidArgument
                case .notPrivate: .notPrivate
                case .oversized: .damaged
                case .missing: .missing
                case .refused: .systemCallFailed
                }
            self.init(code, message, errorNumber: errorNumber)
        }
    }
#endif
