import Foundation
import MeshBase
public import MeshRequests

/// A session for previews and tests, with configurable answers of the counterpart.
///
/// ```swift
/// let session = PreviewWCSession.connected
/// session.setMockResponse(recipe, for: FetchRecipeRequest.self)
/// let connection = WatchConnection(session: session)
/// ```
public final class PreviewWCSession: StandInSession, @unchecked Sendable {
    private let responses = Locked<[String: @Sendable () throws -> Data]>([:])

    /// Creates a session that is activated and reachable.
    public override init() { super.init() }

    /// A session whose counterpart answers.
    public static var connected: PreviewWCSession { PreviewWCSession() }

    /// A session whose counterpart can't be reached.
    public static var disconnected: PreviewWCSession {
        let session = PreviewWCSession()
        session.isReachable = false
        return session
    }

    /// The session of a phone without a watch.
    public static var unpaired: PreviewWCSession {
        let session = disconnected
        session.isPaired = false
        session.isWatchAppInstalled = false
        return session
    }

    /// Sets the answer to every request of a type. Requests without one get an empty success.
    public func setMockResponse<R: SessionRequest>(_ response: R.Response, for requestType: R.Type) {
        responses.withLock { $0[String(describing: requestType)] = { try JSONEncoder().encode(response) } }
    }

    /// Removes all configured answers.
    public func clearMockResponses() { responses.withLock { $0 = [:] } }

    override func reply(to data: Data) -> Data {
        guard let request = try? JSONDecoder().decode(WireRequest.self, from: data),
            let response = responses.withLock({ $0[request.typeName] }),
            let payload = try? response()
        else { return super.reply(to: data) }
        return Self.encoded(.success(payload, requestID: request.requestID))
    }
}
