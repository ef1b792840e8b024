#if CommandLineTools
    import Foundation
    import WorkoutExample

    /// What a peer says on stderr while it plays: one JSON object a line, with one of these keys.
    enum PeerReport: Codable, Equatable {
        /// So many steps of the plan are applied here.
        case progress(steps: Int)
        /// For a live view: how the workout stands here.
        case state(LiveDevice)
        /// For a live view: a tap that was made here, the peer's `number`th.
        case tapped(String, number: UInt64)
        case finished(summary: PeerSummary)
        case failed(reason: String)

        init?(line: String) {
            guard let report = try? JSONDecoder().decode(PeerReport.self, from: Data(line.utf8)) else { return nil }
            self = report
        }

        var line: String {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            // Made of text and whole or finite numbers, which always encode.
            return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? ""
        }

        /// For people.
        var text: String {
            switch self {
            case .progress(let steps): "\(steps) steps"
            case .state(let device): "\(device.phase.rawValue), \(device.laps) laps"
            case .tapped(let name, let number): "tap \(number): \(name)"
            case .finished(let summary):
                "done: \(summary.events) events, \(summary.samples) samples, digest \(summary.digest)"
            case .failed(let reason): "failed: \(reason)"
            }
        }
    }

    /// What a peer has done by the end of a replay. The keys are those of `--json`.
    struct PeerSummary: Codable, Equatable {
        let name: String
        /// Of the state; equal on peers that agree.
        let digest: String
        /// Of the samples, the same.
        let trackDigest: String
        /// Samples of both peers.
        let samples: Int
        /// Events that made the state, of both peers.
        let events: Int
        /// Own events.
        let submitted: Int
        /// The other's events that changed the state; what came in a snapshot is not among them.
        let applied: Int
        let duplicates: Int
        /// The other's events that the policy or the reducer rejected.
        let ignored: Int
        /// The other's events that came after later ones had been applied, and were put before them.
        let late: Int
        /// Events of both whose place became final while this peer was a member.
        let confirmed: Int
        /// Own events sent again because the other lacked them.
        let resent: Int
        /// Copies of the whole session with which this peer joined.
        let copies: Int
        /// Times that an earlier event was missing.
        let gaps: Int
        /// The other's snapshots taken.
        let snapshots: Int
        let snapshotsSent: Int
        let snapshotRequests: Int
        let sendFailures: Int
        /// Bytes sent, as the codec wrote them.
        let bytesRaw: UInt64
        /// Bytes sent, with frames and compression.
        let bytesOnWire: UInt64
        let seconds: Double
        /// Times that a thread of the peer's was woken, from its start to its end.
        let wakeups: Int
    }
#endif
