package import Foundation
package import MeshConnection
package import MeshIdentity

/// What requests say to each other over the wire, in one shape: `kind` decides which fields mean something.
///
/// A reader refuses a version that is higher than its own. Fields and kinds may be added within a version; a reader
/// ignores the ones that it does not know.
package struct RequestMessage: Codable, Sendable {
    package static let version = 1
    /// Of a request's type; what is longer is no request.
    static let typeBytesMax = 512
    package static let featureID = "sessionmesh.requests"
    package static let payloadType = "sessionmesh.request"

    package enum Kind: String {
        case request
        /// The handler's response is the body.
        case answer
        /// A `ConnectionError` is the body, as JSON.
        case failure
        /// One of the request's own errors is the body.
        case handlerFailure
        /// It has arrived, and no answer is there yet or ever.
        case received
        /// It came too late by the receiver's clock, which is `clock`.
        case late
        case probe
        case echo
        /// Nothing is asked any more: an emptied slot.
        case none
    }

    package var version = Self.version
    package let kind: String
    /// The request's, in every message about it.
    package let id: UUID
    package let type: String
    package var body = Data()
    /// Which lane the copy took; queued ones are handled in order.
    package var method: DeliveryMethod?
    package var isFireAndForget: Bool?
    /// Milliseconds since 1970 after which nobody wants it, by the receiver's clock as far as the sender knows it.
    package var expiresAt: UInt64?
    /// When it was asked: rises with every request of a peer.
    package var stamp: HybridTimestamp?
    /// Milliseconds since 1970 that the sender's wall clock shows.
    package var clock: UInt64?
    /// The name of the handler's error in the body, and what it says to those who do not know it.
    package var errorType: String?
    package var errorDescription: String?

    // Not on the wire:

    /// The request as a plain JSON encoder writes it, for a peer that runs WatchConnectivitySwift 5.
    package var plainBody: (@Sendable () -> Data?)?
    /// Whether it came in a frame of WatchConnectivitySwift 5, whose payload is plain JSON.
    package var isPlain = false

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

    /// Why the receiver has not run it, or could not; nil for everything else.
    var failure: ConnectionError? { kind == Kind.failure.rawValue ? error : nil }

    /// The error of a `failure`. One that a later version has added is `remoteError`.
    package var error: ConnectionError {
        (try? JSONDecoder().decode(ConnectionError.self, from: body)) ?? .remoteError(description: "an unknown error")
    }
}

/// The slot that requests of one type and one peer share in the lane `latest`.
package struct ContextFeature: Hashable {
    private static let prefix = RequestMessage.featureID + "/"

    package let featureID: String

    package init(requester: String, type: String) { featureID = "\(Self.prefix)\(requester)/\(type)" }

    package static func isOne(_ featureID: String) -> Bool { featureID.hasPrefix(prefix) }
}
