public import MeshBase

/// Why bytes could not be written or read. One pointer wide, so that hot paths may throw it as a typed error.
public struct WireError: CodedError {
    /// Why it is thrown. Later versions may know more codes.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        public let description: String

        /// The input ends before the value does.
        public static let truncated = Code(description: "truncated")
        /// The bytes contradict the format or their checksum.
        public static let corrupted = Code(description: "corrupted")
        /// A stated bound would be exceeded; nothing was allocated for it.
        public static let oversized = Code(description: "oversized")
        /// The bytes are not of this format.
        public static let foreign = Code(description: "foreign")
        /// The format's version is newer than this reader; the message names it.
        public static let unsupportedVersion = Code(description: "unsupportedVersion")
        /// The frame names a codec that is not registered here.
        public static let unknownCodec = Code(description: "unknownCodec")
        /// The frame names a compression dictionary that is not registered here.
        public static let unknownDictionary = Code(description: "unknownDictionary")
        /// Values are nested deeper than the reader allows.
        public static let tooDeep = Code(description: "tooDeep")
        /// Bytes follow the end of the value.
        public static let trailingBytes = Code(description: "trailingBytes")
        /// A field without which the value cannot be made is absent.
        public static let missingField = Code(description: "missingField")
        /// An enum case that this version of the type does not have; the message names it.
        public static let unknownCase = Code(description: "unknownCase")
        /// The value is of another kind than the type asks for.
        public static let typeMismatch = Code(description: "typeMismatch")
        /// The value is of the right kind and outside what the type can hold.
        public static let invalidValue = Code(description: "invalidValue")
        /// The codec can't keep the value, or a type encodes one value as two; the message names it.
        public static let encodingFailed = Code(description: "encodingFailed")
        /// The compressor refused to work.
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

    /// Creates an error of a codec, for implementers.
    public init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        storage = Storage(code: code, message: message, cause: cause)
    }

    public var code: Code { storage.code }
    public var message: String { storage.message }
    public var cause: (any Error)? { storage.cause }
    /// The fields and indices that lead to the value in question, outermost first; empty when that is not known.
    public var path: [String] { storage.path }

    private init(storage: Storage) { self.storage = storage }

    /// The same error, seen from the container that holds the value under `key`.
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
            "Drop these bytes and ask their sender, or the backup, for a whole copy."
        case .foreign: "Read these bytes with the codec that wrote them."
        case .oversized: "Send less at once, or raise the limit on both devices."
        case .unsupportedVersion: "Update this app."
        case .unknownCodec: "Register the codec that wrote the bytes."
        case .unknownDictionary: "Register the dictionary that wrote the bytes."
        case .tooDeep: "Nest the values less deeply."
        case .missingField, .typeMismatch:
            "Make new fields optional and keep the types of old ones, or update the app on the older device."
        case .unknownCase: "Update this app, or give the type a case for unknown values."
        case .invalidValue, .encodingFailed: "Check what the value holds, and its own coding methods."
        default: "Try again; if it fails again, send without compression."
        }
    }
}

extension WireError {
    static var encodedAsTwo: WireError { WireError(.encodingFailed, "one value is encoded as two") }

    /// A dictionary would come back with fewer entries.
    static func repeatedName(_ name: String) -> WireError {
        WireError(.encodingFailed, "two keys of a dictionary are both encoded as '\(name)'")
    }

    @usableFromInline static func truncated(needed: Int, remaining: Int) -> WireError {
        WireError(.truncated, "\(needed) bytes needed, \(remaining) left")
    }
}

extension WireError? {
    /// Why a frame of fields can't be read, for the peer that sent it.
    package var frameProblem: String {
        self?.code == .truncated ? "the frame ends within a field" : "a field of the frame can't be read"
    }
}
