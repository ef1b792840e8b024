#if UDP
    import NIOCore

    #if canImport(Darwin)
        import Darwin
    #elseif canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #elseif canImport(Android)
        import Android
    #endif

    /// Why a link could not begin.
    public struct UDPLinkError: Error, Hashable, Sendable, CustomStringConvertible {
        /// Why it is thrown. Later versions may know more codes.
        public struct Code: Hashable, Sendable, CustomStringConvertible {
            private enum Value: String {
                case alreadyStarted, portTaken, notPermitted, noSuchAddress, noSuchInterface, invalidIdentity
                case systemCallFailed
            }

            private let value: Value

            /// `open` has been called before.
            public static let alreadyStarted = Code(value: .alreadyStarted)
            /// Somebody listens at that port.
            public static let portTaken = Code(value: .portTaken)
            /// The system refuses: a low port, a sandbox, a firewall.
            public static let notPermitted = Code(value: .notPermitted)
            /// This machine does not have that address.
            public static let noSuchAddress = Code(value: .noSuchAddress)
            /// This machine does not have that interface.
            public static let noSuchInterface = Code(value: .noSuchInterface)
            /// No certificate can be made of the identity.
            public static let invalidIdentity = Code(value: .invalidIdentity)
            /// A call of the system failed; the message says which.
            public static let systemCallFailed = Code(value: .systemCallFailed)

            public var description: String { value.rawValue }
        }

        /// What went wrong, to branch on.
        public let code: Code
        /// What happened, in words for people.
        public let message: String

        /// For callers that stand in for a link.
        public init(_ code: Code, _ message: String) {
            self.code = code
            self.message = message
        }

        public var description: String { "\(code): \(message)" }
    }

    extension UDPLinkError {
        /// What binding a socket threw.
        init(binding place: String, _ error: any Error) {
            switch (error as? IOError)?.errnoCode {
            case EADDRINUSE: self.init(.portTaken, "somebody listens at \(place)")
            case EACCES, EPERM: self.init(.notPermitted, "the system does not let this process listen at \(place)")
            case EADDRNOTAVAIL, EAFNOSUPPORT: self.init(.noSuchAddress, "this machine is not at \(place)")
            default: self.init(.systemCallFailed, "listening at \(place): \(error)")
            }
        }
    }
#endif
