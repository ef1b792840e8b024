/// The counters of a session since it was created.
public struct SessionStatistics: Hashable, Sendable, Codable {
    /// The number of local events that were submitted.
    public internal(set) var submitted = 0
    /// Number of local high-rate events that were rejected to leave space for others.
    public internal(set) var thinnedOut = 0
    /// The number of remote events that were applied.
    public internal(set) var applied = 0
    /// Number of remote events that arrived late, so that later ones were rolled back and reduced again.
    public internal(set) var late = 0
    /// Number of remote events that this device already held.
    public internal(set) var duplicates = 0
    /// Number of remote events without effect: rejected, unreadable, or of a peer that isn't admitted.
    public internal(set) var ignored = 0
    /// Number of remote events that this version can't read. They keep their place without effect.
    public internal(set) var unread = 0
    /// Number of remote events that arrived while earlier ones were missing.
    public internal(set) var gaps = 0
    /// Number of messages for this feature that couldn't be used.
    public internal(set) var rejected = 0
    /// Number of events confirmed while this peer was a member.
    public internal(set) var confirmed = 0
    /// Number of side effects that ran without an error.
    public internal(set) var effects = 0
    /// Number of side-effect runs that threw; they run again.
    public internal(set) var effectFailures = 0
    /// The number of control messages sent to other engines.
    public internal(set) var controlsSent = 0
    /// Number of control messages received from other engines and accepted.
    public internal(set) var controlsReceived = 0
    /// Number of own events sent again because a peer lacked them.
    public internal(set) var resent = 0
    /// Number of copies of the complete session that were sent to newcomers.
    public internal(set) var copiesSent = 0
    /// Number of copies of the complete session that this device adopted.
    public internal(set) var copiesAdopted = 0
    /// Number of snapshots handed to the transport.
    public internal(set) var snapshotsSent = 0
    /// Number of received snapshots that had news.
    public internal(set) var snapshotsApplied = 0
    /// Number of received snapshots without news.
    public internal(set) var snapshotsStale = 0
    /// Number of snapshots refused before the engine saw them: too old, or of an idle state.
    public internal(set) var snapshotsRefused = 0
    /// Number of snapshot requests sent.
    public internal(set) var snapshotRequestsSent = 0
    /// Number of samples from peers that were refused for lack of space.
    public internal(set) var samplesRefused = 0
    /// Number of sends for which the transport threw an error.
    public internal(set) var sendFailures = 0
    /// Number of writes for which the store threw an error.
    public internal(set) var storeFailures = 0
    /// Number of events of other members that this device relayed.
    public internal(set) var relayed = 0
    /// Number of times that this peer took a new incarnation: its store had forked, or the others had removed it.
    public internal(set) var reincarnations = 0
    /// Number of alarms raised.
    public internal(set) var alarms = 0

    /// Creates counters that are all zero.
    public init() {}
}
