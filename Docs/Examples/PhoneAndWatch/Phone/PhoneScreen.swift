import MatchKit
import SwiftUI

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
                Text(match.otherDevice ?? "Open the app on the watch")
                ForEach(match.problems, id: \.self) { Text($0) }
            }
        }
    }
}

#Preview { PhoneScreen(match: .preview) }
