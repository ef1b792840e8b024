import Foundation
import MeshBase
public import MeshRequests

/// A session for previews and tests, whose counterpart gives the answers that it was told.
///
/// ```swift
/// let session = PreviewWCSession.connected
/// session.setMockResponse(recipe, for: FetchRecipeRequest.self)
/// let connection = WatchConnection(session: session)
/// ```
public final class PreviewWCSession: StandInSession, @unchecked Sendable {
    private let responses = Locked<[String: @Sendable () throws -> Data]>([:])

    /// A session that is activated and reachable.
    public override init() { super.init() }

    /// A session whose counterpart answers.
    public static var connected: PreviewWCSession { PreviewWCSession() }

    /// A session whose counterpart cannot be reached.
    public static var disconnected: PreviewWCSession {
        let session = PreviewWCSession()
        session.isReachable = false
        return session
    }

    /// A phone without a watch.
    public static var unpaired: PreviewWCSession {
        let session = disconnected
        session.isPaired = false
        session.isWatchAppInstalled = false
        return session
    }

    /// The answer to every request of that type from now on. A request without one gets an answer that is empty.
    public func setMockResponse<R: SessionRequest>(_ response: R.Response, for requestType: R.Type) {
        responses.withLock { $0[String(describing: requestType)] = { try JSONEncoder().encode(response) } }
    }

    /// Forgets every answer that was set.
    public func clearMockResponses() { responses.withLock { $0 = [:] } }

    override func reply(to data: Data) -> Data {
        guard let request = try? JSONDecoder().decode(WireRequest.self, from: data),
            let response = responses.withLock({ $0[request.typeName] }),
            let payload = try? response()
        else { return super.reply(to: data) }
        return Self.encoded(.success(payload, requestID: request.requestID))
    }
}
