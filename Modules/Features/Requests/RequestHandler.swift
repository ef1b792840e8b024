import Foundation
import MeshBase
import MeshConnection
import MeshTransport
import MeshWire

/// The result of handling an encoded request.
enum RequestOutcome: Sendable {
    case answer(Data)
    case failure(ConnectionError)
    /// An error of a type that the request lists in `failures`.
    case handlerFailure(name: String, Data, description: String)
}

/// A type-erased handler.
struct RequestHandler: Sendable {
    let run: @Sendable (RequestMessage) async -> RequestOutcome
    /// The file and line that registered the handler.
    let place: String

    /// - Parameter onMismatch: called if the request can't be decoded or only a plain decoder can read it, or if its
    ///   response can't be encoded or loses a field.
    init<R: SessionRequest>(
        _ type: R.Type, coding: RequestCoding, place: String, onMismatch: @escaping @Sendable () -> Void,
        handler: @escaping @Sendable (R) async throws -> R.Response
    ) {
        self.place = place
        run = { message in
            let request: R
            do {
                request = try coding.decode(R.self, from: message, onMismatch)
            } catch {
                onMismatch()
                return .failure(.decodingFailed(description: "\(error)"))
            }
            let response: R.Response
            do {
                response = try await handler(request)
            } catch {
                return coding.outcome(of: error, listed: R.failures)
            }
            do {
                let bytes =
                    try message.isLegacyJSON
                    ? JSONEncoder().encode(response) : coding.encode(response, onLoss: onMismatch)
                return .answer(bytes)
            } catch {
                onMismatch()
                return .failure(.encodingFailed(description: "\(error)"))
            }
        }
    }
}

/// Encodes and decodes requests, responses and handlers' errors.
struct RequestCoding: Sendable {
    private let encoder: @Sendable (any Encodable) throws -> Data
    private let decoder: @Sendable (any Decodable.Type, Data) throws -> any Decodable

    /// A lock serializes the use of both coders.
    init(encoder: JSONEncoder, decoder: JSONDecoder) {
        let lock = Locked(UncheckedPair(encoder: encoder, decoder: decoder))
        self.encoder = { value in try lock.withLock { try $0.encoder.encode(value) } }
        self.decoder = { type, data in try lock.withLock { try $0.decoder.decode(type, from: data) } }
    }

    /// Encodes a request or a reply.
    /// - Parameter onLoss: called in debug builds if the bytes lose a field whose loss wasn't reported yet.
    func encode<Value: Codable>(_ value: Value, onLoss: () -> Void) throws -> Data {
        let bytes = try encoder(value)
        if CodingLoss.report(from: value, to: try decoded(Value.self, bytes), in: "a request or its reply") != nil {
            onLoss()
        }
        return bytes
    }

    private func decoded<Value: Decodable>(_ type: Value.Type, _ bytes: Data) throws -> Value {
        guard let value = try decoder(type, bytes) as? Value else {
            throw ConnectionError.decodingFailed(description: "the decoded value isn't a \(type)")
        }
        return value
    }

    /// Reads the body. WatchConnectivitySwift 5 always writes it with a plain encoder, and the app's decoder could misread
    /// its dates. So a plain decoder's result wins for such a message.
    /// - Parameter onFallback: called if only the plain decoder can read the body.
    func decode<Value: Decodable>(
        _ type: Value.Type, from message: RequestMessage, _ onFallback: () -> Void
    ) throws -> Value {
        let plain = message.isLegacyJSON ? try? JSONDecoder().decode(type, from: message.body) : nil
        do {
            let value = try decoded(type, message.body)
            return plain ?? value
        } catch {
            guard let plain else { throw error }
            onFallback()
            return plain
        }
    }
}

/// Holds the caller's coders, which may belong to an actor. Only used behind a lock.
private struct UncheckedPair: @unchecked Sendable {
    let encoder: JSONEncoder
    let decoder: JSONDecoder
}

// MARK: - Errors

extension RequestCoding {
    func outcome(of error: any Error, listed failures: [any (Error & Codable & Sendable).Type]) -> RequestOutcome {
        if let error = error as? ConnectionError { return .failure(error) }
        if let type = failures.first(where: { $0 == Swift.type(of: error) }), let value = error as? any Encodable,
            let bytes = try? encoder(value)
        {
            return .handlerFailure(name: TypeName.nested(type), bytes, description: error.shownText)
        }
        return .failure(.handlerError(description: error.shownText))
    }

    /// Returns the response in an answer, or throws the error in it.
    /// - Parameter onFallback: called if only the plain decoder can read the body.
    /// - Throws: the handler's error, or `handlerError` if it isn't listed; `decodingFailed`; `incompatiblePeer`.
    func response<R: SessionRequest>(
        to type: R.Type, in message: RequestMessage, onFallback: () -> Void
    ) throws -> R.Response {
        guard message.version <= RequestMessage.version else { throw message.versionError }
        switch RequestMessage.Kind(rawValue: message.kind) {
        case .answer:
            do {
                return try decode(R.Response.self, from: message, onFallback)
            } catch {
                throw ConnectionError.decodingFailed(description: "\(error)")
            }
        case .failure: throw message.error
        case .handlerFailure:
            let listed = R.failures.first { TypeName.nested($0) == message.errorType }
            if let listed, let error = try? decoder(listed, message.body) as? any Error { throw error }
            throw ConnectionError.handlerError(description: message.errorDescription ?? "")
        default: throw ConnectionError.incompatiblePeer(reason: "'\(message.kind)' isn't a kind of answer")
        }
    }
}

extension RequestMessage {
    var versionError: ConnectionError {
        .incompatiblePeer(reason: "the message has version \(version), and the receiver reads up to \(Self.version)")
    }

    /// Returns the answer to a request.
    static func reply(_ outcome: RequestOutcome, to request: RequestMessage) -> RequestMessage {
        var reply: RequestMessage
        switch outcome {
        case .answer(let body): reply = RequestMessage(.answer, id: request.id, type: request.type, body: body)
        case .failure(let error): reply = .failure(error, id: request.id, type: request.type)
        case .handlerFailure(let name, let body, let description):
            reply = RequestMessage(.handlerFailure, id: request.id, type: request.type, body: body)
            reply.errorType = name
            reply.errorDescription = description
        }
        reply.method = request.method
        return reply
    }
}
