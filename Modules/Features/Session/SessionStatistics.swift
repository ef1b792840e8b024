/// The counters of a session since it was created.
public struct SessionStatistics: Hashable, Sendable, Codable {
    /// The number of local events that were submitted.
    public internal(set) var submitted = 0
    /// Local events of a high rate that were not taken, to leave room.
    public internal(set) var thinnedOut = 0
    /// The number of remote events that were applied.
    public internal(set) var applied = 0
    /// Remote events that came after later ones had been applied, which were rolled back and reduced again.
    public internal(set) var late = 0
    /// Remote events that were held already.
    public internal(set) var duplicates = 0
    /// Remote events without effect: rejected by policy or reducer, or of a peer that is not admitted.
    public internal(set) var ignored = 0
    /// Remote events that this version cannot read; they keep their place without effect.
    public internal(set) var unread = 0
    /// Remote events of which earlier ones were missing.
    public internal(set) var gaps = 0
    /// Messages for this feature that could not be used.
    public internal(set) var rejected = 0
    /// Events confirmed while this peer was a member.
    public internal(set) var confirmed = 0
    /// Side effects that ran, and runs that threw.
    public internal(set) var effects = 0
    /// Times that a side effect threw; it runs again.
    public internal(set) var effectFailures = 0
    /// The number of control messages sent to other engines.
    public internal(set) var controlsSent = 0
    /// Messages of other engines that were taken.
    public internal(set) var controlsReceived = 0
    /// Own events sent again because a peer lacked them.
    public internal(set) var resent = 0
    /// Copies of the whole session for a newcomer.
    public internal(set) var copiesSent = 0
    /// Copies of the whole session that were taken over here.
    public internal(set) var copiesAdopted = 0
    /// Snapshots handed to the transport.
    public internal(set) var snapshotsSent = 0
    /// Snapshots that told something new.
    public internal(set) var snapshotsApplied = 0
    /// Snapshots that told nothing new.
    public internal(set) var snapshotsStale = 0
    /// Snapshots refused before the engine saw them: too old, idle, or of an ended session.
    public internal(set) var snapshotsRefused = 0
    /// Requests for a snapshot.
    public internal(set) var snapshotRequestsSent = 0
    /// Samples of peers that found no room.
    public internal(set) var samplesRefused = 0
    /// Sends that the transport threw for.
    public internal(set) var sendFailures = 0
    /// Writes that the store threw for.
    public internal(set) var storeFailures = 0
    /// Events of other members that were handed on.
    public internal(set) var relayed = 0
    /// Times that this peer took another name because its store had forked, or the others had gone on without it.
    public internal(set) var reincarnations = 0
    /// Alarms of the engine.
    public internal(set) var alarms = 0

    /// Creates counters that are all zero.
    public init() {}
}
