// Names of version 0.1.0 that have better ones.

extension SyncedSession {
    @available(*, deprecated, renamed: "viewNumber")
    public var view: UInt64 { viewNumber }
    @available(*, deprecated, renamed: "removeMember(_:)")
    public func goOn(without peerID: String) { removeMember(peerID) }
    @available(*, deprecated, renamed: "values(of:)")
    public func presence<Value>(of key: EphemeralKey<Value>) -> [String: Value] { values(of: key) }
    @available(*, deprecated, renamed: "latestValue(of:)")
    public func shown<Value>(_ key: EphemeralKey<Value>) -> EphemeralValue<Value>? { latestValue(of: key) }
    @available(*, deprecated, renamed: "latestValue(of:by:)")
    public func shown<Value>(_ key: EphemeralKey<Value>, by peerID: String) -> EphemeralValue<Value>? {
        latestValue(of: key, by: peerID)
    }
    @available(*, deprecated, renamed: "valueUpdates(of:)")
    public func shownValues<Value>(_ key: EphemeralKey<Value>) -> AsyncStream<EphemeralValue<Value>> {
        valueUpdates(of: key)
    }
}

extension SyncedSessionConfiguration {
    @available(*, deprecated, renamed: "waitsForInvitation")
    public var joins: Bool {
        get { waitsForInvitation }
        set { waitsForInvitation = newValue }
    }
    @available(*, deprecated, renamed: "memberTimeout")
    public var letsGoAfter: Duration? {
        get { memberTimeout }
        set { memberTimeout = newValue }
    }
}

extension SessionPeerStatus {
    @available(*, deprecated, renamed: "isActive")
    public var isHere: Bool { isActive }
    @available(*, deprecated, renamed: "unacknowledgedCount")
    public var missingThereCount: UInt64? { unacknowledgedCount }
}

extension SessionDeparture {
    @available(*, deprecated, renamed: "viewNumber")
    public var view: UInt64 { viewNumber }
}

extension SessionLobby {
    @available(*, deprecated, renamed: "observed")
    public var sighting: SessionSighting<State>? { observed }
}
