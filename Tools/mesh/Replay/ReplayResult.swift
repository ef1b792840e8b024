#if CommandLineTools
    import Foundation
    import MeshToolOutput
    import WorkoutExample

    /// The result that `mesh replay` prints. Scripts rely on the keys: later versions may add keys but never remove one.
    struct ReplayResult: Encodable {
        /// True if all peers ended with the same state and the same samples.
        let converged: Bool
        let peers: [PeerSummary]
        let recording: RecordingSummary
        /// Seconds from the start of the first peer to the end of the last.
        let seconds: Double
        /// The peers again, because every result of the tools has rows.
        let rows: [PeerSummary]

        init(recording: RecordingSummary, peers: [PeerSummary], seconds: Double) {
            converged =
                peers.count == ReplayPlan.Actor.allCases.count
                && Set(peers.map { [$0.digest, $0.trackDigest] }).count == 1
            self.peers = peers
            self.recording = recording
            self.seconds = seconds
            rows = peers
        }

        func text() -> String {
            let table = Table(
                columns: [
                    "peer", .number("samples"), .number("events"), .number("submitted"), .number("applied"),
                    .number("late"),
                    .number("duplicates"), .number("gaps"), .number("snapshots"), .number("bytes raw"),
                    .number("bytes on wire"), .number("wake-ups"), .number("wake-ups an event"), .number("seconds"),
                    "digest",
                ],
                rows: peers.map(\.cells))
            return [recording.text.wrappedToTerminal, table.text(), converged ? "Both agree." : "They do not agree."]
                .joined(separator: "\n\n")
        }
    }

    /// The replayed recording.
    struct RecordingSummary: Encodable {
        /// Path of the recording; nil for the built-in one.
        let file: String?
        let steps: Int
        let samples: Int
        /// Number of track points left out because they have no time.
        let untimed: Int
        let laps: Int
        let metres: Double
        /// Duration of the workout in seconds, without pauses.
        let elapsedSeconds: Double

        init(file: String?, plan: ReplayPlan) {
            self.file = file
            steps = plan.steps.count
            samples = plan.sampleCount
            untimed = plan.untimedPointCount
            laps = plan.finalState.laps.count
            metres = plan.finalState.distance
            elapsedSeconds = plan.finalState.elapsed(at: .distantFuture)
        }

        var text: String {
            let kilometres = String(format: "%.2f", metres / 1_000)
            let minutes = Int((elapsedSeconds / 60).rounded())
            return "\(file ?? "Built-in run"): \(kilometres) km in \(minutes) min, \(laps) laps, \(samples) samples, "
                + "\(untimed) points without time skipped"
        }
    }

    extension PeerSummary {
        fileprivate var cells: [String] {
            [
                name, "\(samples)", "\(events)", "\(submitted)", "\(applied)", "\(late)", "\(duplicates)", "\(gaps)",
                "\(snapshots)",
                "\(bytesRaw)", "\(bytesOnWire)", "\(wakeups)", String(format: "%.2f", wakeupsPerEvent),
                String(format: "%.2f", seconds), digest,
            ]
        }

        /// Wakeups per event, counting taps and samples of both peers.
        private var wakeupsPerEvent: Double { Double(wakeups) / Double(max(1, events + samples)) }
    }
#endif
