public import Foundation
public import MeshRequests

/// A request as WatchConnectivitySwift 5 puts it on the wire, in JSON.
///
/// This module uses it with peers that speak nothing newer; apps may use it to feed a mock session.
public struct WireRequest: Codable, Sendable {
    /// The request's type without the types and the module that it is nested in.
    public let typeName: String
    /// The request in JSON.
    public let payload: Data
    /// The ID that connects the request with its reply.
    public let requestID: UUID
    /// Whether the sender waits for no reply.
    public let isFireAndForget: Bool
    /// The moment of the request, by the sender's clock.
    public let timestamp: Date

    /// Creates the request on the wire from a request of the app.
    ///
    /// - Throws: what the encoder throws.
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
    /// - Throws: what the decoder throws.
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
