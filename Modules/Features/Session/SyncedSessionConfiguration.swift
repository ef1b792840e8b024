public import Foundation
import MeshBase
public import MeshEngine
import MeshIdentity
public import MeshTransport
import MeshWire

/// The reaction of a session to a store that can't be read or written. In both cases `storeError` has the error.
public enum StoreFailurePolicy: Hashable, Sendable {
    /// Opening throws the store's error. A running session keeps its events in memory, sends and confirms nothing, and
    /// tries again.
    case wait
    /// The session continues in memory under a new incarnation; `durability` says so. The store is left unchanged, and
    /// the next launch opens its contents. A running session waits while the store is only `unavailable`, for example
    /// suspended.
    case continueInMemory
}

/// The devices that may see a session. Only members can change it.
public enum SessionAudience: Hashable, Sendable {
    /// The members, under any of their incarnations. Other connected peers get neither events nor state.
    case members
    /// Every peer that the transport connects; peers that aren't members watch.
    case everyPeer
}

/// The devices that a member admits when they open the same session.
public enum SessionAdmission: Hashable, Sendable {
    /// The user's own devices, as the transport reports them (`isOwn` of `SessionSyncTransport`), and devices that a
    /// member has invited.
    case paired
    /// Only devices that a member has invited: for apps in which several users share a session.
    case invited
}

/// The options of a `SyncedSession`. The defaults suit a feature with taps and a few samples a second.
public struct SyncedSessionConfiguration<State: Codable & Sendable, Event: Codable & Sendable>: Sendable {
    /// The name of the event type on the wire; nil uses the feature ID and `.event`.
    public var payloadType: String?
    /// The name of the state type on the wire; nil uses the feature ID and `.state`.
    public var snapshotPayloadType: String?
    /// The incarnation of a new session's store, 32 random bits; nil generates one.
    public var incarnation: UInt32?
    /// The group's first members, this device included; at most 16. Use it for three or more devices, or for two that
    /// form a group before they meet. If it is empty, the first two devices that meet found a group.
    public var members: [SessionSource] = []
    /// The devices that this one admits. A group has 16 members at most; the next device raises `notAdmitted`.
    public var admits = SessionAdmission.paired
    /// True if the session has begun elsewhere: this device waits until it is admitted (`invite`) and founds no group.
    public var waitsForInvitation = false
    /// Time after which a majority of a group of three or more removes a silent member. Counts from the end of the
    /// silence that the member announced, or from the moment at which the link lost it. The member returns when it can,
    /// with the events that it made meanwhile. nil waits forever. Values below 30 s count as 30 s.
    public var memberTimeout: Duration? = .seconds(60)
    /// The devices that see the session once its group is sealed.
    public var audience = SessionAudience.members
    /// The reaction of a session from `open` when its store fails.
    public var storeFailure = StoreFailurePolicy.wait
    /// The side effect of confirmed events. Runs for every event confirmed while this peer is a member, one after
    /// another, in their final order.
    ///
    /// The session confirms an event, stores the confirmation, calls this closure, then marks the event as done. So the
    /// closure runs once per event ID; only a crash before the mark repeats it, after the relaunch. If it throws, that
    /// event and later ones wait for the next exchange.
    public var onConfirmed: (@MainActor @Sendable (SessionConfirmedEvent<Event>) async throws -> Void)?
    /// Bounds and hooks of the engine. `upcast` reads events of other versions. If it is nil, the event's own decoding
    /// reads those that an earlier version of the app kept unread. The bounds of unconfirmed events exceed the engine's
    /// defaults: 262,144 events, or 32 MiB of memory. That is enough for a day out of reach at one event a second.
    public var engine = {
        var options = SessionEngineOptions<State, Event>()
        options.ownUnconfirmedMax = 262_144
        options.ownUnconfirmedBytesMax = 32 << 20
        return options
    }()

    /// The delivery mode of events.
    let eventDelivery: SessionDeliveryMode = .realtimeBestEffort
    /// Selects high-rate events, such as heart-rate samples, after which no snapshot is sent. They leave an eighth of
    /// the space for unconfirmed events (`engine.ownUnconfirmedMax`, `ownUnconfirmedBytesMax`) to other events. While
    /// no peer is reachable and half of the rest is used, the session accepts ever fewer of them. So space remains for
    /// a whole day out of reach.
    public var isHighRate: @Sendable (Event) -> Bool = { _ in false }
    /// Selects states in which nothing has begun. A peer's snapshot of such a state is refused.
    public var isIdle: @Sendable (State) -> Bool = { _ in false }
    /// The codec of copies for newcomers. Newcomers read this codec and the compact one.
    let checkpointCodec: any PayloadCodec = CompactCodec()
    /// Maximum number of bytes of a copy that the session sends or accepts. Both sides hold the copy while it travels.
    public var copyBytesMax = 64 << 20
    /// Maximum number of bytes of a copy in one message. Larger copies go in pieces, even if a message could hold more.
    package var copyMessageBytesMax = Int.max
    /// Maximum number of bytes of series in the store (in memory without one). It applies to this device's samples, and
    /// again to all other devices' samples. Beyond it, `record` throws, or this device refuses other devices' samples.
    public var seriesBytesMax = 256 << 20
    /// Minimum time between two messages with shown values (`show`). If a key's values come faster, the newest is sent.
    let ephemeralInterval: Duration = .milliseconds(100)
    /// Maximum time that samples wait to be sent together, which makes them smaller. Many samples leave sooner.
    public var seriesInterval: Duration = .seconds(5)
    /// Maximum time that reducing late events blocks the main actor. Measured by the machine's clock, so virtual time
    /// uses zero, which reduces a few events per slice.
    package var catchUpTime = Duration.milliseconds(2)

    /// Version of the reducer, the policy, the state and its encoding. Raise it in each version of the app that reduces
    /// the same events to another state: devices compare states only if their versions are equal. Must not be negative.
    public var reducerVersion = 1
    /// Runs some work and returns the time it took, for the budget of state comparisons. Returns zero in virtual time.
    package var measure: @Sendable (_ work: () -> Void) -> Duration = { ContinuousClock().measure($0) }

    /// The regular time between two controls, in which engines report what they hold. A quarter of it while something
    /// is missing, a fifth after an event has arrived, 300 times it while there is nothing to report.
    package var exchangeInterval: Duration = .seconds(1)
    /// True if messages are sent and read in their short forms (`ShortForm`), which earlier versions don't know.
    package var usesShortForms = true
    /// Maximum time that `close` waits for reachable members to acknowledge.
    let closeTimeout: Duration = .seconds(2)
    /// Maximum age of a retained snapshot while no peer is reachable.
    public var stalenessBudget: Duration = .seconds(300)
    /// Seconds by which the sender's clock is ahead of this device's, used until the session has measured it. Corrects
    /// the age of a retained snapshot.
    package var clockOffsetSeconds: TimeInterval = 0
    /// The minimum time between two snapshot requests.
    package var requestInterval: Duration = .seconds(1)
    /// Maximum number of events that wait to be sent. Beyond it `submit` throws `SessionSyncError.queueFull`.
    package var outgoingMax = 4096
    /// The device's wall clock. A session reads it when it is opened and counts `uptime` from then on, so setting the
    /// clock moves no timer.
    public var now: @Sendable () -> Date = { Date() }
    /// The elapsed time, sleep included and independent of the wall clock. Virtual time drives it together with `now`.
    public var uptime: @Sendable () -> Duration = { SystemClock().elapsed }
    /// Waits for a duration, by `uptime`.
    public var wait: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    /// Receives warnings for the developer, in debug builds only.
    package var warn: @Sendable (String) -> Void = { StandardError.print($0) }
    /// Seeds liveness tokens and new IDs. Must differ between launches.
    package var randomSeed: @Sendable () -> UInt64 = { .random(in: 0 ... .max) }

    /// Creates a configuration with the default of every option.
    public init() {}

    /// Creates a configuration with the default options and this clock, such as the virtual clock of a
    /// `ScenarioNetwork`.
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

    /// Decodes events that an earlier version of the app kept unread, when this version opens the store.
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
