import MeshConnection

/// A request to a peer, with the type of its answer.
///
/// ```swift
/// struct FetchRecipe: SessionRequest {
///     typealias Response = Recipe
///     let id: String
/// }
/// ```
public protocol SessionRequest: Codable, Sendable {
    /// The type of the answer.
    associatedtype Response: Codable & Sendable

    /// The request's name on the wire. It must be the same on both sides. By default, the type's name with the types it is
    /// nested in, without modules.
    static var requestType: String { get }
    /// Types of the handler's errors that arrive unchanged. Other errors arrive as `ConnectionError.handlerError`. A
    /// `ConnectionError` always arrives unchanged. By default none.
    static var failures: [any (Error & Codable & Sendable).Type] { get }
}

extension SessionRequest {
    public static var requestType: String { TypeName.nested(Self.self) }
    public static var failures: [any (Error & Codable & Sendable).Type] { [] }
}

/// A request without an answer. Its handler runs no matter on which lane the request arrives.
public protocol FireAndForgetRequest: SessionRequest where Response == VoidResponse {}

/// A response that carries nothing.
public struct VoidResponse: Codable, Sendable, Hashable {
    /// Creates the response of a request that returns nothing.
    public init() {}
}
