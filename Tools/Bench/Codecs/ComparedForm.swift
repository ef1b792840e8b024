public import MeshBus

/// A benchmark payload in the format of another library, measured next to our codecs.
///
/// A plugin contributes one for each payload. `encode` and `decode` must do all the work that a program built on that library
/// would do for one envelope, including metadata.
public struct ComparedForm: Sendable {
    /// The ID of the payload, such as `event`.
    public let payload: String
    /// The name in the table's column `codec`, such as `protobuf`. Every row is then compared with this form.
    public let name: String
    let makeOperations: @Sendable () throws -> Operations

    struct Operations {
        let bytes: Int
        let encode: () throws -> Void
        let decode: () throws -> Void
    }

    /// - Parameters:
    ///   - encode: Writes the same envelope at each call.
    ///   - decode: Reads the output of `encode`.
    public init<Encoded>(
        payload: String, name: String, encode: @escaping @Sendable () throws -> Encoded,
        decode: @escaping @Sendable (Encoded) throws -> Void, count: @escaping @Sendable (Encoded) -> Int
    ) {
        self.payload = payload
        self.name = name
        makeOperations = {
            let encoded = try encode()
            return Operations(
                bytes: count(encoded), encode: { _ = try encode() }, decode: { try decode(encoded) })
        }
    }
}

extension ExtensionPoint where Value == ComparedForm {
    /// The extension point at which `bench codecs` finds forms to compare our codecs with.
    public static let comparedForms = ExtensionPoint("sessionmesh.compared-forms")
}
