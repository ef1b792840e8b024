import MatchKit
import SwiftUI
import WatchConnectivity

struct PhoneScreen: View {
    let match: Scoreboard

    var body: some View {
        List {
            TimelineView(.periodic(from: .now, by: 1)) { _ in
                Text(match.time, format: .time(pattern: .minuteSecond)).font(.largeTitle)
            }
            HStack {
                Button("Home \(match.home)") { match.score(.home) }
                Button("Away \(match.away)") { match.score(.away) }
            }
            .buttonStyle(.borderedProminent)
            Button(match.isRunning ? "Pause" : "Start") { match.startOrPause() }
            Button("New match") { match.newMatch() }
            Section("Goals: tap to take back") {
                ForEach(match.goals) { goal in
                    Button(goal.side.rawValue.capitalized) { match.takeBack(goal) }
                }
            }
            Section("Watch") {
                TimelineView(.periodic(from: .now, by: 1)) { _ in Text(watch) }
                ForEach(match.problems, id: \.self) { Text($0) }
            }
        }
    }

    /// The status of the watch: as the system says it until the two apps have met, then as the session says it.
    private var watch: String {
        let session = WCSession.default
        guard session.activationState == .activated else { return "Looking for the watch" }
        guard session.isPaired else { return "Pair a watch with this phone" }
        if let status = match.otherDevice { return status }
        return session.isWatchAppInstalled ? "Open the app on the watch" : "Install the app in the Watch app"
    }
}

#Preview { PhoneScreen(match: .preview) }
