import MeshIdentity
import MeshWire

/// A stored value whose bytes are intact but can't be decoded as the app's type.
struct UnreadableValue: Error {
    /// The app's type and, if known, the field that can't be decoded.
    let place: String
    let cause: any Error

    /// Returns nil if the error isn't about the app's type: the bytes are malformed, or the field is outside `prefix`.
    ///
    /// - Parameter prefix: the path to the app's value inside the decoded one.
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
