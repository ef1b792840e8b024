public import MeshBase

/// The reason why bytes couldn't be written or read. One pointer wide, so hot paths can throw it as a typed error.
public struct WireError: CodedError {
    /// The category of the failure. Later versions may add codes.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        public let description: String

        /// The input ends before the value does.
        public static let truncated = Code(description: "truncated")
        /// The bytes contradict the format or their checksum.
        public static let corrupted = Code(description: "corrupted")
        /// A bound would be exceeded. No memory was allocated for the excess.
        public static let oversized = Code(description: "oversized")
        /// The bytes are not of this format.
        public static let foreign = Code(description: "foreign")
        /// The reader doesn't support the frame's version, kind, flags or compression; the message names it.
        public static let unsupportedVersion = Code(description: "unsupportedVersion")
        /// The frame names a codec that isn't registered here.
        public static let unknownCodec = Code(description: "unknownCodec")
        /// The frame names a compression dictionary that isn't registered here.
        public static let unknownDictionary = Code(description: "unknownDictionary")
        /// Values are nested deeper than the codec allows.
        public static let tooDeep = Code(description: "tooDeep")
        /// Bytes follow the end of the value.
        public static let trailingBytes = Code(description: "trailingBytes")
        /// A required field is absent.
        public static let missingField = Code(description: "missingField")
        /// This version of the type doesn't have the enum case; the message names it.
        public static let unknownCase = Code(description: "unknownCase")
        /// The value's kind isn't one that the type can read.
        public static let typeMismatch = Code(description: "typeMismatch")
        /// The value has the right kind but is outside the range of the type or field.
        public static let invalidValue = Code(description: "invalidValue")
        /// The codec can't represent the value without loss, or a type's `encode(to:)` writes two values where one is
        /// expected. The message says which.
        public static let encodingFailed = Code(description: "encodingFailed")
        /// The compressor reported a failure.
        public static let compressionFailed = Code(description: "compressionFailed")
    }

    private final class Storage: Sendable {
        let code: Code
        let message: String
        let cause: (any Error)?
        let path: [String]

        init(code: Code, message: String, cause: (any Error)?, path: [String] = []) {
            (self.code, self.message, self.cause) = (code, message, cause)
            self.path = path
        }
    }

    private let storage: Storage

    /// Creates an error with its code. For implementers of codecs.
    public init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        storage = Storage(code: code, message: message, cause: cause)
    }

    public var code: Code { storage.code }
    public var message: String { storage.message }
    public var cause: (any Error)? { storage.cause }
    /// The fields and indices that lead to the failing value, outermost first; empty if unknown.
    public var path: [String] { storage.path }

    private init(storage: Storage) { self.storage = storage }

    /// Returns this error with a key in front of its path.
    /// - Parameter key: The key of the failing value in its container.
    func within(_ key: String) -> WireError {
        WireError(storage: Storage(code: code, message: message, cause: cause, path: [key] + path))
    }
}

extension WireError {
    public var description: String {
        let place = path.isEmpty ? "" : " at \(path.joined(separator: "."))"
        return cause.map { "\(code)\(place): \(message): \($0)" } ?? "\(code)\(place): \(message)"
    }

    public var advice: String {
        switch code {
        case .truncated, .corrupted, .trailingBytes:
            "Discard these bytes, and get a complete copy from the sender or a backup."
        case .foreign: "Read these bytes with the codec that wrote them."
        case .oversized: "Send less at once, or raise the limit on both devices."
        case .unsupportedVersion: "Update this app."
        case .unknownCodec: "Register the codec that wrote the bytes."
        case .unknownDictionary: "Register the dictionary that compressed the bytes."
        case .tooDeep: "Reduce the nesting of the value."
        case .missingField, .typeMismatch:
            "Make new fields optional and keep the types of old ones, or update the app on the older device."
        case .unknownCase: "Update this app, or give the type a case for unknown values."
        case .invalidValue, .encodingFailed: "Check the value's content, and its encode(to:) and init(from:)."
        default: "Try again; if it fails again, send without compression."
        }
    }
}

extension WireError {
    static var encodedAsTwo: WireError { WireError(.encodingFailed, "one value is encoded as two") }

    /// The error for two keys with one name. The decoded dictionary would have fewer entries.
    static func repeatedName(_ name: String) -> WireError {
        WireError(.encodingFailed, "two keys of a dictionary are both encoded as '\(name)'")
    }

    @usableFromInline static func truncated(needed: Int, remaining: Int) -> WireError {
        WireError(.truncated, "\(needed) bytes are needed, \(remaining) are left")
    }
}

extension WireError? {
    /// Text that tells the sender why the fields of its frame can't be read.
    package var frameProblem: String {
        self?.code == .truncated ? "the frame ends within a field" : "a field of the frame can't be read"
    }
}
