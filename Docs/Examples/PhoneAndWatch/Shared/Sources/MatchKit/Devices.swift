import Foundation
import MeshSQLiteStorage
import SessionMesh

#if canImport(WatchConnectivity)
    extension Scoreboard {
        /// Creates the match that this device shares with its phone or watch. It survives relaunches.
        public convenience init() {
            self.init(SharedSession(Match(), over: .companion, store: try Match.openStore()))
        }
    }
#endif

extension Match {
    /// Opens the store in a folder, by default the app's own.
    public static func openStore(in folder: URL? = nil) throws -> SQLiteStore {
        let folder =
            try folder
            ?? FileManager.default.url(
                for: .applicationSupportDirectory, in: .userDomainMask, appropriateFor: nil, create: true)
        return try SQLiteStore(path: folder.appending(path: "Match.sqlite").path)
    }
}

extension Scoreboard {
    /// A match in its thirteenth minute, for previews. It reaches no other device.
    public static var preview: Scoreboard {
        let transport = ScenarioNetwork(seed: 1).makeTransport(localPeer: .thisDevice())
        let session = SharedSession(Match(), over: transport)
        session.send { .start(at: $0.addingTimeInterval(-754)) }
        session.send { .goal(.home, at: $0.addingTimeInterval(-30)) }
        return Scoreboard(session)
    }
}
