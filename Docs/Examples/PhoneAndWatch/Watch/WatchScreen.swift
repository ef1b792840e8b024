import MatchKit
import SwiftUI

struct WatchScreen: View {
    let match: Scoreboard

    var body: some View {
        List {
            TimelineView(.periodic(from: .now, by: 1)) { _ in
                Text(match.time, format: .time(pattern: .minuteSecond)).font(.largeTitle)
            }
            Button("Home \(match.home)") { match.score(.home) }
            Button("Away \(match.away)") { match.score(.away) }
            Button(match.isRunning ? "Pause" : "Start") { match.startOrPause() }
            Text(match.otherDevice ?? "Open the app on the phone")
            ForEach(match.problems, id: \.self) { Text($0) }
        }
    }
}

#Preview { WatchScreen(match: .preview) }
