public import Foundation
public import MeshConnection

/// A reply as WatchConnectivitySwift 5 puts it on the wire, in JSON.
public struct WireResponse: Codable, Sendable {
    /// The outcome of a request.
    public enum Outcome: Codable, Sendable {
        /// The response in JSON.
        case success(Data)
        /// The error that was thrown.
        case failure(ConnectionError)
    }

    /// The outcome of the request.
    public let outcome: Outcome
    /// The ID of the answered request.
    public let requestID: UUID
    /// The time of the answer, by the answering device's clock.
    public let timestamp: Date

    /// Creates a response from its fields.
    public init(outcome: Outcome, requestID: UUID, timestamp: Date) {
        self.outcome = outcome
        self.requestID = requestID
        self.timestamp = timestamp
    }

    /// Creates the response to a successful request, from an encoded payload.
    ///
    /// - Parameter payload: The encoded response.
    public static func success(_ payload: Data, requestID: UUID) -> WireResponse {
        WireResponse(outcome: .success(payload), requestID: requestID, timestamp: Date())
    }

    /// Creates the response to a successful request, and encodes the payload.
    ///
    /// - Throws: The encoder's errors.
    public static func success(
        _ response: some Encodable & Sendable, requestID: UUID, encoder: JSONEncoder = JSONEncoder()
    ) throws -> WireResponse {
        success(try encoder.encode(response), requestID: requestID)
    }

    /// Creates the response to a failed request, with the current time.
    public static func failure(_ error: ConnectionError, requestID: UUID) -> WireResponse {
        WireResponse(outcome: .failure(error), requestID: requestID, timestamp: Date())
    }

    /// Decodes the response to a successful request.
    ///
    /// - Throws: The error in the response, or the decoder's errors.
    public func decodeSuccess<Response: Decodable & Sendable>(
        as type: Response.Type, using decoder: JSONDecoder = JSONDecoder()
    ) throws -> Response {
        switch outcome {
        case .success(let payload): try decoder.decode(type, from: payload)
        case .failure(let error): throw error
        }
    }

    /// The error; nil if the request succeeded.
    public var error: ConnectionError? {
        if case .failure(let error) = outcome { error } else { nil }
    }
}

extension ConnectionError {
    /// Returns the error in a form that WatchConnectivitySwift 5 can decode.
    var forReferencePeers: ConnectionError {
        switch self {
        case .idInUse, .payloadTooLarge, .incompatiblePeer: .remoteError(description: description)
        default: self
        }
    }
}
