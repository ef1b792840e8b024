package import Foundation
package import MeshConnection
package import MeshIdentity

/// A message about a request. `kind` decides which fields are used.
///
/// A reader refuses a higher version than its own. Fields and kinds may be added within a version; a reader ignores unknown
/// ones.
package struct RequestMessage: Codable, Sendable {
    package static let version = 1
    /// Maximum number of bytes of a request type's name.
    static let typeBytesMax = 512
    package static let featureID = "sessionmesh.requests"
    package static let payloadType = "sessionmesh.request"

    package enum Kind: String {
        case request
        /// The body is the handler's response.
        case answer
        /// The body is a `ConnectionError` as JSON.
        case failure
        /// The body is an error that the request lists in `failures`.
        case handlerFailure
        /// The request has arrived. Its answer follows later, if it has one.
        case received
        /// The request has expired by the receiver's clock, which is in `clock`.
        case late
        case probe
        case echo
        /// An emptied slot: the request in it isn't needed any more.
        case none
    }

    package var version = Self.version
    package let kind: String
    /// The request's ID, in every message about it.
    package let id: UUID
    package let type: String
    package var body = Data()
    /// The lane of this copy. Queued copies are handled in order.
    package var method: DeliveryMethod?
    package var isFireAndForget: Bool?
    /// The deadline in milliseconds since 1970, by the sender's estimate of the receiver's clock.
    package var expiresAt: UInt64?
    /// The time of the call. Rises with every request of a peer.
    package var stamp: HybridTimestamp?
    /// The sender's wall clock, in milliseconds since 1970.
    package var clock: UInt64?
    /// The type of the handler's error in the body. `errorDescription` is a text for callers that don't know the type.
    package var errorType: String?
    package var errorDescription: String?

    // Not on the wire:

    /// Returns the request encoded by a plain JSON encoder, for a peer that runs WatchConnectivitySwift 5.
    package var legacyBody: (@Sendable () -> Data?)?
    /// True if the message came in a frame of WatchConnectivitySwift 5, whose payload is plain JSON.
    package var isLegacyJSON = false

    private enum CodingKeys: CodingKey {
        case version, kind, id, type, body, method, isFireAndForget, expiresAt, stamp, clock, errorType
        case errorDescription
    }

    package init(_ kind: Kind, id: UUID, type: String, body: Data = Data()) {
        self.kind = kind.rawValue
        self.id = id
        self.type = type
        self.body = body
    }

    package static func failure(_ error: ConnectionError, id: UUID, type: String) -> RequestMessage {
        RequestMessage(.failure, id: id, type: type, body: (try? JSONEncoder().encode(error)) ?? Data())
    }

    /// The error in a `failure`, the reason why the receiver has no answer. Nil for other kinds.
    var failure: ConnectionError? { kind == Kind.failure.rawValue ? error : nil }

    /// The error of a `failure`. An error that only later versions know becomes `remoteError`.
    package var error: ConnectionError {
        (try? JSONDecoder().decode(ConnectionError.self, from: body)) ?? .remoteError(description: "an unknown error")
    }
}

/// The slot in the lane `latest` that requests of one type from one peer share.
package struct ContextFeature: Hashable {
    private static let prefix = RequestMessage.featureID + "/"

    package let featureID: String

    package init(requester: String, type: String) { featureID = "\(Self.prefix)\(requester)/\(type)" }

    package static func isSlot(_ featureID: String) -> Bool { featureID.hasPrefix(prefix) }
}
