import MeshIdentity
import MeshWire

/// A stored value of an app's type that the type can't be made of, although its bytes are whole.
struct UnreadableValue: Error {
    /// The type, and the field if it is known.
    let place: String
    let cause: any Error

    /// nil for an error that isn't about the type: bytes that contradict their format, or a field outside of `prefix`.
    ///
    /// - Parameter prefix: the path to the app's value in what was decoded.
    init?(_ type: Any.Type, _ error: any Error, below prefix: [String]) {
        let path: [String]
        switch error {
        case let error as WireError:
            guard ![.truncated, .corrupted, .foreign].contains(error.code) else { return nil }
            path = error.path
        case DecodingError.keyNotFound(let key, let context): path = (context.codingPath + [key]).map(\.stringValue)
        case DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context),
            DecodingError.dataCorrupted(let context):
            path = context.codingPath.map(\.stringValue)
        default: path = prefix
        }
        guard path.starts(with: prefix) else { return nil }
        let field = path.dropFirst(prefix.count).joined(separator: ".")
        place = field.isEmpty ? "\(type)" : "\(type), field '\(field)'"
        cause = error
    }
}
