public import MeshIdentity

/// Bounds and hooks of an engine.
public struct SessionEngineOptions<State: Sendable, Event: Sendable>: Sendable {
    /// Own events that are not confirmed. Beyond it `submitLocal` throws `SessionSyncError.logFull`, or, in an engine
    /// that never ticked, the oldest half of the log is folded.
    public var ownUnconfirmedMax = 4096
    /// The same in bytes: what an entry of the log takes, and the event as `eventBytes` counts it.
    public var ownUnconfirmedBytesMax = 8 << 20
    /// Checkpoints of the state, from which late events are reduced again: as many as this holds by the state's encoded size,
    /// 4 at least and 32 at most. A session knows the size; an engine alone knows no codec and keeps 32.
    let checkpointBytesMax = 8 << 20
    /// Events of one source that wait for earlier ones; what is beyond is dropped and asked for again.
    package var gapMax = 256
    /// Events in one answer to a range request.
    package let rangeMax = 256
    /// Confirmed events that wait to be taken, or marked; beyond it confirmation waits.
    @usableFromInline package var confirmedMax = 4096
    /// How far ahead the clock is persisted, so that an idle promise costs no write.
    let clockLeaseMilliseconds: UInt64 = 500
    /// A source whose stamps are further ahead of the wall clock is told of: a day.
    @usableFromInline let clockAheadMilliseconds: UInt64 = 86_400_000
    /// Keep confirmed events in the image until `markSideEffects(through:)`, so that a crash runs them again.
    public var keepsSideEffects = false
    /// Whether it founds a group with the first peer that it meets. One that does not waits to be taken into a group that
    /// exists: what a device does that joins a session, of several that may do so at once.
    public var founds = true
    /// Reduce every event twice and compare by `stateDigest`: finds reducers that are not deterministic. Slow.
    public var reducesTwice = false
    /// The same now and then, and for small states always, until a first find: on in debug builds.
    public var samplesReducer = isDebugBuild
    /// The size of an event for the log's bound. Asked once for each own event; nil counts the fixed size, as an engine
    /// knows no codec. `SyncedSession` counts the encoded size then.
    @usableFromInline package var eventBytes: (@Sendable (Event) -> Int)?
    /// The same, of events that the caller of `submitLocal` does not weigh itself.
    @usableFromInline package var encodedBytes: (@Sendable (Event) -> Int)?
    /// The size of a state, for `checkpointBytesMax`.
    package var encodedStateBytes: (@Sendable (State) -> Int)?
    /// A digest of an event for the chain of confirmed events, equal on every replica; nil leaves the payload out of
    /// it.
    public var eventDigest: (@Sendable (Event) -> UInt64)?
    /// Compares two states where the reducer is checked (`reducesTwice`, `samplesReducer`); nil compares their JSON.
    public var stateDigest: (@Sendable (State) -> UInt64)?
    /// Reads an event of another payload version than this one; nil leaves it opaque.
    public var upcast: (@Sendable (SessionSyncMetadata, [UInt8], _ codec: UInt8) -> Event?)?

    @inlinable var checksReducer: Bool { reducesTwice || samplesReducer }

    /// Events that `takeDirectives` hands over as confirmed at once.
    @usableFromInline package var confirmedAtOnce = Int.max
    /// After `gather` the caller goes on with `catchUp`, bit by bit, and until then `state` does not tell of what came.
    @usableFromInline package var catchesUpLater = false

    /// The defaults: what each field says.
    public init() {}

    private static var isDebugBuild: Bool {
        #if DEBUG
            true
        #else
            false
        #endif
    }
}
