#if UDP
    public import MeshBase
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

    /// An error that prevents a link from opening.
    public struct UDPLinkError: CodedError, Hashable {
        /// The reason for a ``UDPLinkError``. Later versions may add codes.
        public struct Code: Hashable, Sendable, CustomStringConvertible {
            public let description: String

            /// The link was already opened.
            public static let alreadyStarted = Code(description: "alreadyStarted")
            /// Another process listens on that port.
            public static let portTaken = Code(description: "portTaken")
            /// The system refuses: a low port, a sandbox, a firewall.
            public static let notPermitted = Code(description: "notPermitted")
            /// This machine doesn't have that address.
            public static let noSuchAddress = Code(description: "noSuchAddress")
            /// This machine doesn't have that interface.
            public static let noSuchInterface = Code(description: "noSuchInterface")
            /// The identity can't be used for a TLS certificate.
            public static let invalidIdentity = Code(description: "invalidIdentity")
            /// A system call failed. The message says which.
            public static let systemCallFailed = Code(description: "systemCallFailed")
        }

        public let code: Code
        public let message: String

        /// Creates an error for tests that replace a link.
        public init(_ code: Code, _ message: String) {
            (self.code, self.message) = (code, message)
        }

        public var advice: String {
            switch code {
            case .alreadyStarted: "Create a new link for each start."
            case .portTaken: "Close the other program, or use port 0 for a free one."
            case .notPermitted: "Allow the app to use the local network, or use a port above 1023."
            case .noSuchAddress: "Use an address of this machine, or none to listen at all of them."
            case .noSuchInterface: "Use the name of an interface of this machine."
            case .invalidIdentity: "Load the identity again, or create a new one and pair the devices again."
            default: "Check the network, then open the link again."
            }
        }
    }

    extension UDPLinkError {
        /// Creates the error for a failed `bind`.
        init(binding place: String, _ error: any Error) {
            switch (error as? IOError)?.errnoCode {
            case EADDRINUSE: self.init(.portTaken, "another program already listens at \(place)")
            case EACCES, EPERM: self.init(.notPermitted, "the system doesn't allow this process to listen at \(place)")
            case EADDRNOTAVAIL, EAFNOSUPPORT:
                self.init(.noSuchAddress, "this machine doesn't have the address of \(place)")
            default: self.init(.systemCallFailed, "can't listen at \(place): \(error)")
            }
        }
    }
#endif
