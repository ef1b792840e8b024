import SessionMesh

/// A separate session for each match, instead of one for all. When either device opens a match, the other one follows.
public typealias MatchLobby = SessionLobby<Match.State, Match.Event, Match, Match>

extension MatchLobby {
    public convenience init(
        named name: String, over transport: any SessionSyncTransport, store: (any SessionStore)? = nil,
        configuration: Configuration = .init()
    ) {
        self.init(
            featureID: Match.featureID, name: name, over: transport, store: store, configuration: configuration
        ) { sessionID, follow in
            var configuration = configuration
            follow(&configuration)
            return try await Session.open(
                Match(), sessionID: sessionID, over: transport, store: store, configuration: configuration)
        }
    }
}
