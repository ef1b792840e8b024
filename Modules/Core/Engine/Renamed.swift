// Deprecated names of version 0.1.0.

extension SessionSyncEngine {
    /// The former name of ``removeMembers(_:)``.
    @available(*, deprecated, renamed: "removeMembers(_:)")
    public mutating func goOn(without peerIDs: Set<String>) { removeMembers(peerIDs) }
}
