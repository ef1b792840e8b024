import MeshBase
import MeshConnection
public import MeshTransport

/// Both sides of the requests on one connection, shared by all its `SessionRequests`.
final class RequestExchange: Sendable {
    let requester: Requester
    let responder: Responder
    let coding: RequestCoding
    /// The reason why no requests arrive: the app itself has claimed the route. Nil if requests arrive.
    let error: ConnectionError?
    private let route: EnvelopeRoute?
    private let listeners = OwnedTasks()

    private init(_ connection: any SessionConnection, _ coding: RequestCoding) {
        let requester = Requester(connection)
        let responder = Responder(connection, board: requester.board)
        self.requester = requester
        self.responder = responder
        self.coding = coding
        let router = RequestRouter(requester: requester, responder: responder)
        let (snapshots, changes) = (connection.transport.receiveSnapshots(), connection.transport.reachabilityChanges())
        do throws(ConnectionError) {
            route = try connection.route(featureID: RequestMessage.featureID) { await router.pass($0) }
            error = nil
        } catch {
            route = nil
            self.error = error
            requester.board.report(
                SessionProblem(
                    .idInUse, of: RequestMessage.featureID,
                    "the app itself receives '\(RequestMessage.featureID)', so no request arrives here",
                    advice: "Release that route, then create the requests again."))
            return
        }
        responder.start()
        listeners.hold([
            Task { for await snapshot in snapshots { await router.pass(snapshot) } },
            Task { [weak requester, weak responder] in
                for await change in changes {
                    requester?.note(change)
                    if change.isReachable { responder?.sendRestoredReplies() }
                }
            },
        ])
    }

    deinit { requester.end() }

    // MARK: One for each connection

    private struct Weak {
        weak var exchange: RequestExchange?
    }

    /// An exchange retains its connection, so an identifier can't be reused while the exchange exists.
    private static let all = Locked<[ObjectIdentifier: Weak]>([:])

    /// Returns the connection's exchange, creating it if needed.
    /// - Parameter connection: the root connection, not a wrapper.
    static func on(_ connection: any SessionConnection, _ coding: RequestCoding) -> RequestExchange {
        let key = ObjectIdentifier(connection)
        return all.withLock { all in
            if let present = all[key]?.exchange { return present }
            let new = RequestExchange(connection, coding)
            guard new.error == nil else { return new }
            all = all.filter { $0.value.exchange != nil }
            all[key] = Weak(exchange: new)
            return new
        }
    }
}

extension SessionProblem.Code {
    /// A peer sent a fire-and-forget request for which no handler is registered here, so it was dropped.
    public static let handlerMissing = Self("handlerMissing")
    /// Two lines of code registered a handler for one type of request. The later one answers.
    public static let handlerReplaced = Self("handlerReplaced")
    /// A request names a peer that the transport has never met.
    public static let unknownPeer = Self("unknownPeer")
}
