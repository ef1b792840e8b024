#if UDP || MQTT || WebSocket
    public import MeshBase

    /// Why an identity or the list of trusted peers is of no use. The message says what to do next.
    public struct SecurityError: CodedError {
        /// Why it is thrown. Later versions may know more codes.
        public struct Code: Hashable, Sendable, CustomStringConvertible {
            public let description: String

            /// Others may read or change the file, or it is none. Nothing of it was used.
            public static let notPrivate = Code(description: "notPrivate")
            /// The stored bytes are not those that were written. They stay as they are.
            public static let damaged = Code(description: "damaged")
            /// A newer version of the library has written it. It stays as it is.
            public static let newerVersion = Code(description: "newerVersion")
            /// The folder does not exist.
            public static let missing = Code(description: "missing")
            /// There is no room for one more peer, or for one more administrator.
            public static let full = Code(description: "full")
            /// No peer of that ID is trusted.
            public static let unknownPeer = Code(description: "unknownPeer")
            /// The system refused; `errorNumber` says why.
            public static let systemCallFailed = Code(description: "systemCallFailed")
            /// A name of a file that no file can have, or dates that no certificate can hold.
            public static let invalidArgument = Code(description: "invalidArgument")
        }

        public let code: Code
        public let message: String
        /// The system's error number, or 0 if no system call failed.
        public let errorNumber: Int32

        package init(_ code: Code, _ message: String, errorNumber: Int32 = 0) {
            (self.code, self.message, self.errorNumber) = (code, message, errorNumber)
        }

        /// Empty where each message of the code says what to do.
        public var advice: String {
            switch code {
            case .systemCallFailed: "Check that the device is unlocked and has free space, then try again."
            case .unknownPeer: "Choose one of the peers that are paired with this device."
            case .invalidArgument: "Use a valid file name, valid dates and an identity that this library made."
            default: ""
            }
        }
    }

    typealias PrivateFile = MeshBase.PrivateFile<SecurityError>

    extension SecurityError: PrivateFileFailure {
        package init(_ flaw: PrivateFileFlaw, _ message: String, errorNumber: Int32) {
            let code: Code =
                switch flaw {
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
