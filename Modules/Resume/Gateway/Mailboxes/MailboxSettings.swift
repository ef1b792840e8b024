import MeshBase
import MeshMailbox
package import MeshResume

/// The bounds that a gateway grants a device that opens its mailbox.
public struct MailboxSettings: Sendable {
    /// The time between two heartbeats, which the challenge announces, from a second to ten minutes. A value out of this
    /// range is clamped, as devices do too. The gateway closes a device that sends nothing for twice as long.
    public var heartbeatInterval = Duration.seconds(30)
    /// Maximum time from the connection to the open mailbox.
    let openTimeout = Duration.seconds(10)
    /// Maximum number of a user's mailboxes at all gateways. A mailbox that wasn't opened for `MailboxBounds.idle` doesn't count.
    package var mailboxesPerUser = 64
    /// Maximum number of a device's frames in a burst. All devices of a user together may send twice as many. Beyond it
    /// the gateway reads nothing from the device for up to a second. It closes the connection if as many frames again
    /// arrive in that time.
    package var framesAtOnce = 20_000
    /// Maximum number of a device's frames per second, after a burst.
    public var framesPerSecond = 10_000
    /// Maximum number of `follow` frames in a burst, and then one per second. Each one asks the store about all newly followed
    /// devices.
    package var followsAtOnce = 64
    /// Number of unanswered writes at which the gateway stops reading from the device.
    package var writesMax = 256
    /// Number of bytes waiting for the socket at which live packets are dropped and the queue isn't read.
    package var unsentBytesMax = 512 << 10
    /// Maximum time for which `unsentBytesMax` bytes may wait before the gateway closes the connection.
    package var stallTimeout = Duration.seconds(30)
    /// Maximum number of messages read from the queue at a time.
    package var pageEntries = 32
    /// Time without a notice or page after which a connection asks the store whether it has missed a notice.
    package var catchUpInterval = Duration.seconds(30)

    /// Token times. The server copies them from `GatewaySettings`.
    package var tokenRenewalLead = GatewaySettings().tokenRenewalLead
    package var tokenLifetimeMax = GatewaySettings().tokenLifetimeMax

    /// The host names under which devices dial this gateway, in lowercase; `*.example.org` for all names one level below. A
    /// device signs the opening of its mailbox for the name that it has dialed, so another gateway can't pass the signature on.
    /// If empty, any name is accepted. `GatewayServer` uses the names of its certificate by default.
    public var serverNames: [String] = []
    /// True to let devices of earlier versions, which sign for any server, open their mailboxes.
    public var acceptsUnnamedServer = true

    /// True to report mailbox activity with `MailboxDirective.report`.
    public var tellsActivity = false

    /// Creates settings with the default of every value.
    public init() {}

    var heartbeatMilliseconds: UInt64 {
        MailboxFrame.heartbeatMilliseconds(UInt64(clamping: heartbeatInterval.milliseconds))
    }

    /// Returns true if a signature for that server name is accepted. nil is the signature of earlier versions, for any server.
    func accepts(server: String?) -> Bool {
        guard let server else { return acceptsUnnamedServer }
        if serverNames.isEmpty || serverNames.contains(server) { return true }
        guard let dot = server.firstIndex(of: ".") else { return false }
        return serverNames.contains("*" + server[dot...])
    }
}

/// An instruction from a connection to its server. The server performs them in order.
package enum MailboxDirective: Hashable, Sendable {
    /// Send a frame, and report with `flushed` when it has left.
    case send([UInt8])
    /// Ask the app which user the token belongs to, and answer with `authenticated`.
    case authenticate(token: String)
    /// Ask the store for the queue's range, and answer with `located`.
    case locate(stream: String)
    /// Ask the store for values by name, nil for all, and answer with `found`.
    case find(names: [String]?, stream: String)
    /// Ask the store for events after a position, and answer with `read`.
    case read(stream: String, after: ReplayPosition, limit: Int)
    /// Ask the store for `MailboxCore.viewedNames` of a mailbox, on behalf of all its followers, and answer with `viewed`.
    case view(stream: String)
    /// Start (true) or stop receiving the stream's notices. Counted: each true is followed by one false, perhaps after the
    /// connection was removed.
    case serve(stream: String, Bool)
    /// Perform a write after the connection's earlier ones, and answer with `wrote`. After a failed write, fail the connection's
    /// later posts (`isPost`), so that they don't overtake the post that the device repeats.
    case write(MailboxWrite)
    /// Pass a live packet to all gateways, without an answer.
    case pass([UInt8], stream: String)
    /// Stop reading from the socket, or start again.
    case pause, resume
    /// Report activity, if the settings ask for it.
    case report(MailboxActivity)
    /// Close the connection, after which no instruction follows.
    case close(CloseCode, reason: String)
}

/// A write to the store for a connection.
package enum MailboxWrite: Hashable, Sendable {
    /// A message for a queue. `number` is the post's number, 0 for no answer.
    case append(ReplayEvent, from: String, stream: String, number: UInt64)
    /// A value by name. `number` is the post's number, 0 for no answer.
    case set([UInt8], name: String, stream: String, number: UInt64)
    /// Registers the mailbox as one of the user's. The first write of a connection.
    case enrol(mailbox: String, user: String, max: Int)
    /// The IDs of the senders that this device admits.
    case admit([UInt8], stream: String)

    /// True if the device waits for an answer.
    package var isPost: Bool {
        switch self {
        case .append(_, _, _, let number), .set(_, _, _, let number): number != 0
        case .enrol, .admit: false
        }
    }
}

extension MailboxWrite {
    /// The number of bytes given to the store.
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
    /// Performs a connection's write.
    ///
    /// - Returns: false if the store or the mailbox is full.
    package func perform(_ write: MailboxWrite) async throws -> Bool {
        switch write {
        case .append(let event, let sender, let stream, _): try await post(event, from: sender, to: stream)
        case .set(let value, let name, let stream, _): try await set(value, name, of: stream)
        case .admit(let ids, let stream): try await set(ids, MailboxValue.admitted, of: stream)
        case .enrol(let mailbox, let user, let max): try await enrol(mailbox, of: user, max: max)
        }
    }
}

/// The outcome of a write.
package enum MailboxOutcome: Hashable, Sendable {
    /// The store has kept it.
    case done
    /// The store or the mailbox is full.
    case full
    /// The write may have happened. The cause is for the operator, not for the device.
    case failed(String)
}
