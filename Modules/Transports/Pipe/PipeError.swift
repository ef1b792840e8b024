public import MeshBase

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// An error that keeps a pipe from starting.
public struct PipeError: CodedError, Hashable {
    /// The reason for the error. Later versions may add codes.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        public let description: String

        /// The file descriptor is not open.
        public static let badDescriptor = Code(description: "badDescriptor")
        /// A Unix socket can't be at that path: it is empty, too long, or another kind of file is there.
        public static let invalidPath = Code(description: "invalidPath")
        /// Another process listens at that path.
        public static let addressInUse = Code(description: "addressInUse")
        /// A process or a file of another user is at that path, or another user's process has connected. Root counts as
        /// another user, unless this process is root's.
        public static let otherUser = Code(description: "otherUser")
        /// Others may replace files in that path's folder.
        public static let notPrivate = Code(description: "notPrivate")
        /// The link was already opened.
        public static let alreadyStarted = Code(description: "alreadyStarted")
        /// The system refused a thread, a descriptor or a socket.
        public static let systemCallFailed = Code(description: "systemCallFailed")
    }

    public let code: Code
    public let message: String
    /// The system's error number; 0 if there is none.
    public let errorNumber: Int32

    public var description: String {
        errorNumber == 0 ? "\(code): \(message)" : "\(code): \(message): \(systemMessage(errorNumber))"
    }

    /// The advice for the code; empty if each message of that code contains its own.
    public var advice: String {
        switch code {
        case .badDescriptor: "Give the link an open descriptor."
        case .invalidPath: "Use a short path at which there is no file, or only a socket."
        case .addressInUse: "Close the other process, or use another path."
        case .alreadyStarted: "Make a new link for each start."
        case .systemCallFailed: "Check the path, its permissions and the number of open files, then try again."
        default: ""
        }
    }
}

extension PipeError {
    /// Makes a system call, and translates its error.
    static func translating<Result>(
        _ call: @autoclosure () throws(SystemCallError) -> Result
    ) throws(PipeError) -> Result {
        do throws(SystemCallError) {
            return try call()
        } catch {
            throw .systemCallFailed(error.call, error.errorNumber)
        }
    }

    static func otherUser(_ user: UInt32, at path: String) -> PipeError {
        PipeError(
            code: .otherUser,
            message:
                "user \(user) owns or uses \(path): choose a path in a folder of your own, such as $XDG_RUNTIME_DIR",
            errorNumber: 0)
    }

    static func systemCallFailed(_ call: String, _ errorNumber: Int32) -> PipeError {
        PipeError(code: .systemCallFailed, message: call, errorNumber: errorNumber)
    }
}

/// Returns the system's text for an error number.
func systemMessage(_ errorNumber: Int32) -> String {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer in
        guard let start = buffer.baseAddress else { return "error \(errorNumber)" }
        buffer.initialize(repeating: 0)
        return strerror_r(errorNumber, start, 256) == 0 ? String(cString: start) : "error \(errorNumber)"
    }
}
