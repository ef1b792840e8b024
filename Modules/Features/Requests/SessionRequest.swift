import MeshConnection

/// Something to ask a peer for, and what its answer is.
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

    /// Names the request on the wire, alike on both sides. By default the type's name with the types it is nested in,
    /// without modules.
    static var requestType: String { get }
    /// The handler's errors that arrive as themselves. Others arrive as `ConnectionError.handlerError`, but for
    /// `ConnectionError`, which always arrives as itself. By default none.
    static var failures: [any (Error & Codable & Sendable).Type] { get }
}

extension SessionRequest {
    public static var requestType: String { TypeName.nested(Self.self) }
    public static var failures: [any (Error & Codable & Sendable).Type] { [] }
}

/// A request without an answer. Its handler runs whatever lane it takes.
public protocol FireAndForgetRequest: SessionRequest where Response == VoidResponse {}

/// Says no more than that it is done.
public struct VoidResponse: Codable, Sendable, Hashable {
    /// Creates the answer of a request that returns nothing.
    public init() {}
}
