import Foundation
import MatchKit
import SessionMesh
import Testing

@MainActor @Suite(.timeLimit(.minutes(10))) struct ScoreboardTests {
    @Test("A match outlives the app that shows it")
    func matchOutlivesApp() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "MatchKitTests-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        for launch in 1...2 {
            let transport = ScenarioNetwork(seed: 1).makeTransport(localPeer: .thisDevice())
            let session = SharedSession(Match(), over: transport, store: try Match.openStore(in: folder))
            let match = Scoreboard(session)
            match.score(.home)
            while match.home < launch { try await Task.sleep(for: .milliseconds(1)) }
            #expect(match.home == launch && match.problems.isEmpty)
            await session.close()
        }
    }

    @Test("A preview shows a match in its thirteenth minute")
    func previewShowsMatch() async throws {
        let match = Scoreboard.preview
        while match.home == 0 { try await Task.sleep(for: .milliseconds(1)) }
        #expect(match.time >= .seconds(12 * 60) && match.isRunning)
    }
}
