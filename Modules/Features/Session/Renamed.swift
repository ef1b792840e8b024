// Deprecated names of version 0.1.0.

extension SyncedSession {
    /// The former name of ``viewNumber``.
    @available(*, deprecated, renamed: "viewNumber")
    public var view: UInt64 { viewNumber }
    /// The former name of ``removeMember(_:)``.
    @available(*, deprecated, renamed: "removeMember(_:)")
    public func goOn(without peerID: String) { removeMember(peerID) }
    /// The former name of ``values(of:)``.
    @available(*, deprecated, renamed: "values(of:)")
    public func presence<Value>(of key: EphemeralKey<Value>) -> [String: Value] { values(of: key) }
    /// The former name of ``latestValue(of:)``.
    @available(*, deprecated, renamed: "latestValue(of:)")
    public func shown<Value>(_ key: EphemeralKey<Value>) -> EphemeralValue<Value>? { latestValue(of: key) }
    /// The former name of ``latestValue(of:by:)``.
    @available(*, deprecated, renamed: "latestValue(of:by:)")
    public func shown<Value>(_ key: EphemeralKey<Value>, by peerID: String) -> EphemeralValue<Value>? {
        latestValue(of: key, by: peerID)
    }
    /// The former name of ``valueUpdates(of:)``.
    @available(*, deprecated, renamed: "valueUpdates(of:)")
    public func shownValues<Value>(_ key: EphemeralKey<Value>) -> AsyncStream<EphemeralValue<Value>> {
        valueUpdates(of: key)
    }
}

extension SyncedSessionConfiguration {
    /// The former name of ``waitsForInvitation``.
    @available(*, deprecated, renamed: "waitsForInvitation")
    public var joins: Bool {
        get { waitsForInvitation }
        set { waitsForInvitation = newValue }
    }
    /// The former name of ``memberTimeout``.
    @available(*, deprecated, renamed: "memberTimeout")
    public var letsGoAfter: Duration? {
        get { memberTimeout }
        set { memberTimeout = newValue }
    }
}

extension SessionPeerStatus {
    /// The former name of ``isActive``.
    @available(*, deprecated, renamed: "isActive")
    public var isHere: Bool { isActive }
    /// The former name of ``unacknowledgedCount``.
    @available(*, deprecated, renamed: "unacknowledgedCount")
    public var missingThereCount: UInt64? { unacknowledgedCount }
}

extension SessionDeparture {
    /// The former name of ``viewNumber``.
    @available(*, deprecated, renamed: "viewNumber")
    public var view: UInt64 { viewNumber }
}

extension SessionDeparture.Reason {
    /// The former name of ``removed(by:)``.
    @available(*, deprecated, renamed: "removed(by:)")
    public static func goneOn(by peerID: String) -> Self { .removed(by: peerID) }
    /// The former name of ``unknown``.
    @available(*, deprecated, renamed: "unknown")
    public static var untold: Self { .unknown }
}

extension SessionLobby {
    /// The former name of ``observed``.
    @available(*, deprecated, renamed: "observed")
    public var sighting: ObservedSession<State>? { observed }
}

/// The former name of ``ObservedSession``.
@available(*, deprecated, renamed: "ObservedSession")
public typealias SessionSighting = ObservedSession

extension SessionLobbyChange {
    /// The former name of ``observed``.
    @available(*, deprecated, renamed: "observed")
    public static var sighted: Self { .observed }
}

extension SessionLobbyError {
    /// The former name of ``notMember``.
    @available(*, deprecated, renamed: "notMember")
    public static var takesNoPart: Self { .notMember }
}

extension SessionIntentError {
    /// The former name of ``noServingDevice``.
    @available(*, deprecated, renamed: "noServingDevice")
    public static var nobodyServes: Self { .noServingDevice }
}
