/// What a session has done since it was made.
public struct SessionStatistics: Hashable, Sendable, Codable {
    /// Local events submitted.
    public internal(set) var submitted = 0
    /// Remote events applied.
    public internal(set) var applied = 0
    public internal(set) var duplicates = 0
    /// Remote events without effect: rejected by policy or reducer.
    public internal(set) var ignored = 0
    /// Remote events of which earlier ones were missing.
    public internal(set) var gaps = 0
    /// Messages for this feature that could not be used.
    public internal(set) var rejected = 0
    public internal(set) var snapshotsSent = 0
    public internal(set) var snapshotsApplied = 0
    public internal(set) var snapshotsStale = 0
    /// Snapshots refused before the engine saw them: too old, idle, or of an ended session.
    public internal(set) var snapshotsRefused = 0
    public internal(set) var snapshotRequestsSent = 0
    public internal(set) var sendFailures = 0

    public init() {}
}
