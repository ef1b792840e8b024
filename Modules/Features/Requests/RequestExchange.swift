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

    private init(_ connection: any SessionConnection, _ coding: RequestCoding, after earlier: Entry?) {
        let responder = earlier?.responder ?? Responder(connection, ledger: earlier?.ledger)
        let requester = Requester(connection, board: responder.board)
        self.requester = requester
        self.responder = responder
        self.coding = coding
        let router = RequestRouter(requester: requester, responder: responder)
        let (snapshots, changes) = (connection.transport.receiveSnapshots(), connection.transport.reachabilityChanges())
        do throws(ConnectionError) {
            route = try connection.route(featureID: RequestMessage.featureID) { await router.pass($0) }
            error = nil
            requester.board.solve(.idInUse, of: RequestMessage.featureID)
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

    private struct Entry {
        weak var connection: (any SessionConnection)?
        weak var exchange: RequestExchange?
        /// A responder outlives its exchange while its handlers run. The next exchange must continue it: another responder
        /// would run the waiting requests too.
        weak var responder: Responder?
        /// Without a store, only the ledger knows which requests were handled. With one, the next ledger reads it.
        let ledger: RequestLedger?
    }

    private static let all = Locked<[ObjectIdentifier: Entry]>([:])

    /// Returns the connection's exchange, creating it if needed.
    /// - Parameter connection: the root connection, not a wrapper.
    static func on(_ connection: any SessionConnection, _ coding: RequestCoding) -> RequestExchange {
        let key = ObjectIdentifier(connection)
        return all.withLock { all in
            // Another connection may have had this identifier.
            all = all.filter { $0.value.connection != nil }
            if let present = all[key]?.exchange { return present }
            let new = RequestExchange(connection, coding, after: all[key])
            guard new.error == nil else { return new }
            let ledger = connection.store == nil ? new.responder.ledger : nil
            all[key] = Entry(connection: connection, exchange: new, responder: new.responder, ledger: ledger)
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
