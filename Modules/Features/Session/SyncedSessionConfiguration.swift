public import Foundation
import MeshBase
public import MeshEngine
import MeshIdentity
public import MeshTransport
import MeshWire

/// The reaction of a session to a store that can't be read or written. Either way the error shows as `storeError`.
public enum StoreFailurePolicy: Hashable, Sendable {
    /// Opening throws the store's error. A running session keeps its events in memory, sends and confirms nothing, and
    /// tries again.
    case wait
    /// The session goes on under another name that no store knows; `durability` says so. The store is left as it is, and
    /// the next launch opens what it has.
    case continueInMemory
}

/// The devices that may see a session. Only members can change it.
public enum SessionAudience: Hashable, Sendable {
    /// The members, under any of their sources. Other connected peers get neither events nor state.
    case members
    /// Every peer that the transport connects: others watch.
    case everyPeer
}

/// The devices that a member admits when they open the same session.
public enum SessionAdmission: Hashable, Sendable {
    /// The user's own devices, by the word of the transport (`isOwn` of `SessionSyncTransport`), and those that a member has invited.
    case paired
    /// Only the devices that a member has invited: for apps in which several users share a session.
    case invited
}

/// The options of a `SyncedSession`. Every default is right for a feature with taps and a few samples a second.
public struct SyncedSessionConfiguration<State: Codable & Sendable, Event: Codable & Sendable>: Sendable {
    /// Name of the event type on the wire; nil is the feature id and `.event`.
    public var payloadType: String?
    /// Name of the state type on the wire; nil is the feature id and `.state`.
    public var snapshotPayloadType: String?
    /// 32 random bits that name the store of a new session; nil draws them.
    public var incarnation: UInt32?
    /// Sources that were paired beforehand, the local one among them: three and more devices, or two that need no
    /// founding; at most 16. Empty lets the first two that meet found a group.
    public var members: [SessionSource] = []
    /// The devices that this one admits. A group has 16 members at most; the next device raises `notAdmitted`.
    public var admits = SessionAdmission.paired
    /// The session has begun elsewhere: this device waits to be taken in (`invite`) and founds no group of its own.
    public var waitsForInvitation = false
    /// Time without a message from a member, in a group of three or more, after which a majority goes on without it.
    /// The member returns when it can, with the events that it made meanwhile. nil waits forever. Must be at least
    /// three of the longest `exchangeInterval`s.
    public var memberTimeout: Duration? = .seconds(60)
    /// The devices that see the session once its group is sealed.
    public var audience = SessionAudience.members
    /// The reaction of a session from `open` when its store fails.
    public var storeFailure = StoreFailurePolicy.wait
    /// Runs for every event that is confirmed while this peer is a member, one after another, in their final order.
    ///
    /// Confirm, write, run this, mark it as done: an event's id comes once, except that a crash between running and
    /// marking runs it again after the relaunch. When it throws, the event and those after it wait for the next exchange.
    public var onConfirmed: (@MainActor @Sendable (SessionConfirmedEvent<Event>) async throws -> Void)?
    /// Bounds and hooks of the engine. `upcast` reads events of other versions; nil reads, by their own decoding, those that an
    /// earlier version of the app has kept unread. What is unconfirmed may be more than an engine alone takes, so that a device that is
    /// away from the others for a day at an event a second keeps all of it: 262,144 events, or 32 MiB of memory.
    public var engine = {
        var options = SessionEngineOptions<State, Event>()
        options.ownUnconfirmedMax = 262_144
        options.ownUnconfirmedBytesMax = 32 << 20
        return options
    }()

    /// How events travel.
    let eventDelivery: SessionDeliveryMode = .realtimeBestEffort
    /// Events of such a rate that no snapshot follows them, such as heart-rate samples. They leave an eighth of the
    /// room for unconfirmed events (`engine.ownUnconfirmedMax`, `ownUnconfirmedBytesMax`) to others; and while no peer
    /// can be reached they thin out from half of the rest on, so that a day alone is kept whole and coarser towards its
    /// end.
    public var isHighRate: @Sendable (Event) -> Bool = { _ in false }
    /// States in which nothing has begun: a snapshot of one is not taken from a peer.
    public var isIdle: @Sendable (State) -> Bool = { _ in false }
    /// What copies for newcomers are written with. A reader knows it and the compact codec.
    let checkpointCodec: any PayloadCodec = CompactCodec()
    /// A larger copy of the session is neither given nor taken. While one travels, both sides hold it.
    public var copyBytesMax = 64 << 20
    /// Copies beyond it go in pieces of at most that many bytes, even where a message would hold more.
    package var copyMessageBytesMax = Int.max
    /// Maximum number of bytes of series in the store (in memory without one) that this device records, and the same
    /// again for other devices' samples. Beyond it, `record` throws, and other devices' samples stay with them.
    public var seriesBytesMax = 256 << 20
    /// The shortest time between two messages of values of which only the newest counts (`show`): what is shown faster waits, and
    /// of each key the newest leaves.
    let ephemeralInterval: Duration = .milliseconds(100)
    /// Maximum time that samples wait to be sent together, which makes them smaller. Many samples are sent sooner.
    public var seriesInterval: Duration = .seconds(5)
    /// How long the main actor is held at once for what came late; measured by this machine's clock, so that virtual time
    /// has zero: a few events at once.
    package var catchUpTime = Duration.milliseconds(2)

    /// Version of the reducer, the policy, the state and how the state is encoded. Raise it with each version of the app that
    /// changes what they make of the same events: devices compare states only where both have the same number. From 0 on.
    public var reducerVersion = 1
    /// Does some work and returns the CPU time that it took, for the budget of comparing states. Virtual time returns zero.
    package var measure: @Sendable (_ work: () -> Void) -> Duration = { ContinuousClock().measure($0) }

    /// How often engines tell each other what they hold: a quarter of it while something is missing, a fifth after an
    /// event has come, 300 times it while nothing is to be said.
    package var exchangeInterval: Duration = .seconds(1)
    /// Whether messages have the forms without names, and are read in them; an earlier version doesn't.
    package var usesShortForms = true
    /// How long `close` waits for reachable members to acknowledge.
    let closePatience: Duration = .seconds(2)
    /// Maximum age of a retained snapshot that no connected peer vouches for.
    public var stalenessBudget: Duration = .seconds(300)
    /// How much the sender's clock is ahead of this device's, in seconds, as long as the session has not measured it;
    /// corrects the age of a retained snapshot.
    package var clockOffsetSeconds: TimeInterval = 0
    /// The shortest time between two snapshot requests.
    package var requestInterval: Duration = .seconds(1)
    /// Events that wait to be sent; beyond it `submit` throws `SessionSyncError.queueFull`.
    package var outgoingMax = 4096
    /// The device's wall clock. A session reads it when it is opened, and from there on goes by `uptime`: to set the clock
    /// moves no timer.
    public var now: @Sendable () -> Date = { Date() }
    /// Time that passes, sleep included, whatever the wall clock is set to. Virtual time drives it together with `now`.
    public var uptime: @Sendable () -> Duration = { SystemClock().elapsed }
    /// Lets that much time pass by `uptime`.
    public var wait: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    /// Takes lines for the developer; debug builds only. Tests pass their own.
    package var warn: @Sendable (String) -> Void = { StandardError.print($0) }
    /// Seeds what proves that a peer lives; another number for each launch.
    package var randomSeed: @Sendable () -> UInt64 = { .random(in: 0 ... .max) }

    /// Creates a configuration with the default of every option.
    public init() {}

    /// The defaults, with the time of a clock: `network.clock` of a `ScenarioNetwork` is virtual.
    public init(clock: any DeliveryClock) {
        now = { clock.wall }
        uptime = { clock.elapsed }
        wait = { try await clock.sleep(for: $0) }
        if !clock.passesByItself {
            catchUpTime = .zero
            measure = { work in
                work()
                return .zero
            }
        }
    }

    /// Reads what an earlier version of the app has kept unread, as soon as this one opens the store.
    private var readsUnread: @Sendable (SessionSyncMetadata, [UInt8], UInt8) -> Event? {
        let codecs: [any PayloadCodec] = [checkpointCodec, CompactCodec(), JSONCodec()]
        return { [payloadType] metadata, bytes, codec in
            guard metadata.payloadType == payloadType ?? "\(metadata.featureID).event" else { return nil }
            return codecs.first { $0.id.number == codec }.flatMap { try? $0.decode(Event.self, from: bytes) }
        }
    }

    var engineOptions: SessionEngineOptions<State, Event> {
        var options = engine
        if onConfirmed != nil { options.keepsSideEffects = true }
        if waitsForInvitation { options.founds = false }
        options.catchesUpLater = true
        options.confirmedAtOnce = 512
        options.exchangeMilliseconds = UInt64(max(1, exchangeInterval.seconds * 1_000))
        options.stepMilliseconds = max(1, options.exchangeMilliseconds / 4)
        options.upcast = engine.upcast ?? readsUnread
        options.encodedBytes = { event in (try? CompactCodec().encode(event).count) ?? 0 }
        options.encodedStateBytes = { state in (try? CompactCodec().encode(state).count) ?? 0 }
        return options
    }
}
