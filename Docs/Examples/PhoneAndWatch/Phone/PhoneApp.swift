import MatchKit
import SwiftUI

@main struct PhoneApp: App {
    @State private var match = Scoreboard()

    var body: some Scene { WindowGroup { PhoneScreen(match: match) } }
}
