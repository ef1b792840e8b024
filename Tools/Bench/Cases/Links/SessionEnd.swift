import MeshEngine
import MeshIdentity
import MeshSession
import MeshTransport

/// One end of a measured link, with the main-actor adapter between transport and caller.
@MainActor final class SessionEnd {
    let session: LinkSession

    init(_ local: SessionPeer, on transport: any SessionSyncTransport) {
        var configuration = SyncedSessionConfiguration<LinkState, LinkMessage>()
        configuration.incarnation = 1
        configuration.members = LinkPeers.members
        configuration.isHighRate = { _ in true }
        session = LinkSession(
            sessionID: LinkPeers.sessionID, featureID: LinkPeers.featureID, transport: transport,
            initialState: LinkState(), reducer: LinkReducer(), conflictPolicy: LinkPolicy(),
            configuration: configuration)
        session.start()
    }

    /// Answers until the session is stopped.
    func serve() async throws {
        var answeredCount = 0
        for await state in session.states() {
            while answeredCount < state.questionCount {
                answeredCount += 1
                try session.submit(.plain)
            }
        }
    }
}
