import MatchKit
import SwiftUI

@main struct WatchApp: App {
    @State private var match = Scoreboard()

    var body: some Scene { WindowGroup { WatchScreen(match: match) } }
}
