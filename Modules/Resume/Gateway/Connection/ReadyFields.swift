import Foundation

/// What READY tells a client beside its session's id: fields of a JSON object, of which clients ignore those that they do not
/// know. Tell here what a client needs before its first event, such as its user's id or the server's limits.
public struct ReadyFields: Hashable, Sendable {
    /// Bytes of the fields: 16 KiB.
    public static let jsonBytesMax = 16 << 10
    /// Nothing but the session's id.
    public static let none = ReadyFields()

    /// Without the object's braces.
    let json: [UInt8]

    private init() { json = [] }

    /// - Parameter object: JSON in UTF-8, at most `jsonBytesMax` bytes: an object without `session_id`.
    /// - Throws: `ReplayBufferError.Code.invalidEvent`, also for what is no JSON.
    public init(json object: [UInt8]) throws(ReplayBufferError) {
        guard object.count <= Self.jsonBytesMax else {
            throw ReplayBufferError(
                .invalidEvent, "\(object.count) bytes of fields for READY; the limit is \(Self.jsonBytesMax)")
        }
        guard JSONText.isValid(object),
            let fields = try? JSONSerialization.jsonObject(with: Data(object)) as? [String: Any],
            fields["session_id"] == nil, let begin = object.firstIndex(of: UInt8(ascii: "{")),
            let end = object.lastIndex(of: UInt8(ascii: "}"))
        else {
            throw ReplayBufferError(.invalidEvent, "the fields for READY are a JSON object without session_id")
        }
        json = fields.isEmpty ? [] : Array(object[(begin + 1)..<end])
    }

    /// - Throws: as above, and what encoding throws.
    public init(_ fields: some Encodable) throws { try self.init(json: [UInt8](JSONEncoder().encode(fields))) }
}
