import MeshFoundation

extension SessionLobby {
    var invitationFromHere: SessionInvitation? {
        invitation?.sessionID == openedHere?.sessionID ? invitation : nil
    }
}

extension SyncedSessionConfiguration {
    var wallUptime: @Sendable () -> Duration {
        { [now] in .seconds(now().timeIntervalSince1970) }
    }
}
