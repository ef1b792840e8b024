import Foundation

/// The fields that READY gives a client in addition to its session's ID, as a JSON object. Clients ignore fields that they
/// don't know. Use them for data that a client needs before its first event, such as its user's ID or the server's limits.
public struct ReadyFields: Hashable, Sendable {
    /// Maximum number of bytes of the fields: 16 KiB.
    public static let jsonBytesMax = 16 << 10
    /// The fields of a READY that carries only the session's ID.
    public static let none = ReadyFields()

    /// The object's content, without its braces.
    let json: [UInt8]

    private init() { json = [] }

    /// Creates fields from an object in JSON.
    ///
    /// - Parameter object: JSON in UTF-8, at most `jsonBytesMax` bytes: an object without `session_id`.
    /// - Throws: `ReplayBufferError.Code.invalidEvent`, also if the object isn't JSON.
    public init(json object: [UInt8]) throws(ReplayBufferError) {
        guard object.count <= Self.jsonBytesMax else {
            throw ReplayBufferError(
                .invalidEvent, "\(object.count) bytes of fields for READY; the limit is \(Self.jsonBytesMax)")
        }
        guard JSONScanner.isValue(object),
            let fields = try? JSONSerialization.jsonObject(with: Data(object)) as? [String: Any],
            fields["session_id"] == nil, let begin = object.firstIndex(of: UInt8(ascii: "{")),
            let end = object.lastIndex(of: UInt8(ascii: "}"))
        else {
            throw ReplayBufferError(.invalidEvent, "the fields for READY must be a JSON object without session_id")
        }
        json = fields.isEmpty ? [] : Array(object[(begin + 1)..<end])
    }

    /// Creates fields by encoding a value as an object in JSON.
    ///
    /// - Throws: `ReplayBufferError.Code.invalidEvent`, and errors of the encoder.
    public init(_ fields: some Encodable) throws { try self.init(json: [UInt8](JSONEncoder().encode(fields))) }
}
