public import Foundation
public import MeshConnection

/// A reply as WatchConnectivitySwift 5 puts it on the wire, in JSON.
public struct WireResponse: Codable, Sendable {
    /// The outcome of a request.
    public enum Outcome: Codable, Sendable {
        /// The response in JSON.
        case success(Data)
        /// An error, as it was thrown.
        case failure(ConnectionError)
    }

    /// The outcome of the request.
    public let outcome: Outcome
    /// The ID of the request that is answered.
    public let requestID: UUID
    /// The moment of the answer, by the answering side's clock.
    public let timestamp: Date

    /// Every field as it is.
    public init(outcome: Outcome, requestID: UUID, timestamp: Date) {
        self.outcome = outcome
        self.requestID = requestID
        self.timestamp = timestamp
    }

    /// Creates the response to a request that succeeded, from an encoded payload.
    ///
    /// - Parameter payload: the response, encoded already.
    public static func success(_ payload: Data, requestID: UUID) -> WireResponse {
        WireResponse(outcome: .success(payload), requestID: requestID, timestamp: Date())
    }

    /// Creates the response to a request that succeeded, and encodes the payload.
    ///
    /// - Throws: what the encoder throws.
    public static func success(
        _ response: some Encodable & Sendable, requestID: UUID, encoder: JSONEncoder = JSONEncoder()
    ) throws -> WireResponse {
        success(try encoder.encode(response), requestID: requestID)
    }

    /// A reply that says what went wrong, made now.
    public static func failure(_ error: ConnectionError, requestID: UUID) -> WireResponse {
        WireResponse(outcome: .failure(error), requestID: requestID, timestamp: Date())
    }

    /// Decodes the response to a request that succeeded.
    ///
    /// - Throws: the error that it holds, or what the decoder throws.
    public func decodeSuccess<Response: Decodable & Sendable>(
        as type: Response.Type, using decoder: JSONDecoder = JSONDecoder()
    ) throws -> Response {
        switch outcome {
        case .success(let payload): try decoder.decode(type, from: payload)
        case .failure(let error): throw error
        }
    }

    /// nil when it is a success.
    public var error: ConnectionError? {
        if case .failure(let error) = outcome { error } else { nil }
    }
}

extension ConnectionError {
    /// The same in words that WatchConnectivitySwift 5 can read.
    var forReferencePeers: ConnectionError {
        switch self {
        case .idInUse, .payloadTooLarge, .incompatiblePeer: .remoteError(description: description)
        default: self
        }
    }
}
