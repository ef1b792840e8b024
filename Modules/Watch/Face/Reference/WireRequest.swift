public import Foundation
public import MeshRequests

/// A request as WatchConnectivitySwift 5 puts it on the wire, in JSON.
///
/// Used with peers that run WatchConnectivitySwift 5. Apps may use it to feed a mock session.
public struct WireRequest: Codable, Sendable {
    /// The request's type name, without its module and enclosing types.
    public let typeName: String
    /// The request in JSON.
    public let payload: Data
    /// The ID that connects the request with its reply.
    public let requestID: UUID
    /// True if the sender doesn't wait for a reply.
    public let isFireAndForget: Bool
    /// The time of the request, by the sender's clock.
    public let timestamp: Date

    /// Encodes a request of the app.
    ///
    /// - Throws: The encoder's errors.
    public init<R: SessionRequest>(
        request: R, isFireAndForget: Bool = false, encoder: JSONEncoder = JSONEncoder()
    ) throws {
        self.init(
            typeName: String(describing: R.self), payload: try encoder.encode(request),
            isFireAndForget: isFireAndForget)
    }

    init(
        typeName: String, payload: Data, requestID: UUID = UUID(), isFireAndForget: Bool = false,
        timestamp: Date = Date()
    ) {
        self.typeName = typeName
        self.payload = payload
        self.requestID = requestID
        self.isFireAndForget = isFireAndForget
        self.timestamp = timestamp
    }

    /// Decodes the payload as a request of the given type.
    ///
    /// - Throws: The decoder's errors.
    public func decodePayload<R: SessionRequest>(
        as type: R.Type, using decoder: JSONDecoder = JSONDecoder()
    ) throws -> R {
        try decoder.decode(type, from: payload)
    }
}

/// A request in a user info dictionary.
struct WireUserInfo: Codable {
    let request: WireRequest
}
