public import MeshBus

/// Another library's way to write a benchmark payload, measured beside our codecs.
///
/// A plugin contributes one for each payload. `encode` and `decode` must do the whole work that a program built on that
/// library would do for one envelope, metadata included.
public struct ComparedForm: Sendable {
    /// The id of the payload, such as `event`.
    public let payload: String
    /// As the table's column `codec` says it, such as `protobuf`; every row then tells how it compares with this one.
    public let name: String
    let makeOperations: @Sendable () throws -> Operations

    struct Operations {
        let bytes: Int
        let encode: () throws -> Void
        let decode: () throws -> Void
    }

    /// - Parameters:
    ///   - encode: writes the same envelope at each call.
    ///   - decode: reads what `encode` has written.
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
    /// Where `bench codecs` finds what to compare our codecs with.
    public static let comparedForms = ExtensionPoint("sessionmesh.compared-forms")
}
