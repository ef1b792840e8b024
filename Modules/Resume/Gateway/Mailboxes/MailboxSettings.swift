import MeshMailbox
package import MeshResume

/// The bounds that a gateway grants a device that opens its mailbox.
public struct MailboxSettings: Sendable {
    /// Told with the challenge. A device that says nothing for twice as long is closed.
    public var heartbeatInterval = Duration.seconds(30)
    /// From the connection to the open mailbox.
    let openTimeout = Duration.seconds(10)
    /// Mailboxes of one user, over all gateways; those that were not opened for the store's idle time do not count.
    package var mailboxesPerUser = 64
    /// Frames of a device's, and twice as many of all devices of a user together: so many at once, and so many a second. Beyond them nothing is read from it for up to a second; one
    /// of which as many come all the same is closed.
    package var framesAtOnce = 20_000
    /// Frames of a device in a second, beyond those at once.
    public var framesPerSecond = 10_000
    /// How often a device may say whom it follows: so many times at once, and once a second. Each time asks the store of all that
    /// are new.
    package var followsAtOnce = 64
    /// Posts that the store has not answered yet. While there are as many, nothing more is read from the device.
    package var writesMax = 256
    /// Bytes that wait for the socket, beyond which live packets are dropped and nothing more is read from the queue.
    package var unsentBytesMax = 512 << 10
    /// How long that many may wait before the connection is closed.
    package var stallTimeout = Duration.seconds(30)
    /// Read from the queue at a time.
    package var pageEntries = 32
    /// After so long without news the store is asked whether any was missed.
    package var catchUpInterval = Duration.seconds(30)

    /// The same as in `GatewaySettings`, from which the server takes them.
    package var tokenRenewalLead = GatewaySettings().tokenRenewalLead
    package var tokenLifetimeMax = GatewaySettings().tokenLifetimeMax

    /// The names under which devices dial this gateway, in small letters; `*.example.org` for all names one level below. A
    /// device signs the opening of its mailbox for the name that it has dialed, so another gateway can't pass the signature on.
    /// Any name counts while there is none here. `GatewayServer` takes the names of its certificate.
    public var serverNames: [String] = []
    /// Whether devices of earlier versions, which sign for any server, may open their mailboxes.
    public var acceptsUnnamedServer = true

    /// Whether `MailboxDirective.tell` says what passes.
    public var tellsActivity = false

    /// Creates settings with the default of every value.
    public init() {}

    /// Whether a device may have signed for that name; nil for any.
    func accepts(server: String?) -> Bool {
        guard let server else { return acceptsUnnamedServer }
        if serverNames.isEmpty || serverNames.contains(server) { return true }
        guard let dot = server.firstIndex(of: ".") else { return false }
        return serverNames.contains("*" + server[dot...])
    }
}

/// What a connection wants done, in this order.
package enum MailboxDirective: Hashable, Sendable {
    /// `MailboxCore.flushed` says when it has left.
    case send([UInt8])
    /// Ask the app whose token it is: `authenticated`.
    case authenticate(token: String)
    /// Ask the store, for this connection: `located`, `found`, `read`.
    case locate(stream: String)
    /// Ask the store for values by name, nil for all: `found`.
    case find(names: [String]?, stream: String)
    /// Ask the store for events after a position: `read`.
    case read(stream: String, after: ReplayPosition, limit: Int)
    /// Ask the store, for all: `viewed`.
    case view(stream: String)
    /// The gateway needs the stream's notices from now on, or no longer. Counted: each true has its false. Also for a key that
    /// has gone.
    case serve(stream: String, Bool)
    /// Of one connection, in this order and one after another: `wrote`. After one that has failed no `isPost` may be tried: what
    /// comes later must not overtake what the device says again.
    case write(MailboxWrite)
    /// Nobody waits for an answer.
    case pass([UInt8], stream: String)
    /// Reads no more from the socket, or does again.
    case pause, resume
    /// For whoever watches; only where the settings say so.
    case tell(MailboxActivity)
    /// Nothing follows.
    case close(CloseCode, reason: String)
}

/// What a store is to write for a connection.
package enum MailboxWrite: Hashable, Sendable {
    /// A message for a queue; `number` is the post's, 0 where nobody waits for an answer.
    case append(ReplayEvent, from: String, stream: String, number: UInt64)
    /// A value by name; `number` is the post's, 0 where nobody waits for an answer.
    case set([UInt8], name: String, stream: String, number: UInt64)
    /// A place among the user's mailboxes; the first write of a connection.
    case enrol(mailbox: String, user: String, max: Int)
    /// Whom this device lets in.
    case admit([UInt8], stream: String)

    /// A device waits for its answer.
    package var isPost: Bool {
        switch self {
        case .append(_, _, _, let number), .set(_, _, _, let number): number != 0
        case .enrol, .admit: false
        }
    }
}

extension MailboxWrite {
    /// Bytes that the store is given.
    package var byteCount: Int {
        switch self {
        case .append(let event, _, _, _): event.byteCount
        case .set(let value, let name, _, _): value.count + name.utf8.count
        case .admit(let ids, _): ids.count
        case .enrol(let mailbox, _, _): mailbox.utf8.count
        }
    }
}

extension MailboxStore {
    /// Does what a connection wants written.
    ///
    /// - Returns: false where there is no room.
    package func perform(_ write: MailboxWrite) async throws -> Bool {
        switch write {
        case .append(let event, let sender, let stream, _): try await post(event, from: sender, to: stream)
        case .set(let value, let name, let stream, _): try await set(value, name, of: stream)
        case .admit(let ids, let stream): try await set(ids, MailboxValue.admitted, of: stream)
        case .enrol(let mailbox, let user, let max): try await enrol(mailbox, of: user, max: max)
        }
    }
}

/// What came of a write.
package enum MailboxOutcome: Hashable, Sendable {
    /// It is kept.
    case done
    /// The stream has no room for it.
    case full
    /// It may have happened. The cause is for the operator, not for the device.
    case failed(String)
}
