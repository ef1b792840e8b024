#if CommandLineTools
    import Foundation
    import WorkoutExample

    /// A report of a playing peer, printed on stderr as one line of JSON. Its one key is the case's name.
    enum PeerReport: Codable, Equatable {
        /// The number of steps of the plan that are applied here.
        case progress(steps: Int)
        /// The workout on this peer, for a live view.
        case state(LiveDevice)
        /// A tap made here, the peer's `number`th, for a live view.
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
            // Text and finite numbers always encode.
            return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? ""
        }

        /// The report as text for people.
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

    /// The result of a peer at the end of a replay. The keys are those of `--json`.
    struct PeerSummary: Codable, Equatable {
        let name: String
        /// Digest of the state. Equal on peers that agree.
        let digest: String
        /// Digest of the samples. Equal on peers that agree.
        let trackDigest: String
        /// Number of samples of both peers.
        let samples: Int
        /// Number of events of both peers that made the state.
        let events: Int
        /// Number of the peer's own events.
        let submitted: Int
        /// Number of the other peer's events that changed the state, without those that came in a snapshot.
        let applied: Int
        let duplicates: Int
        /// Number of the other peer's events that the policy or the reducer rejected.
        let ignored: Int
        /// Number of the other peer's events that arrived late and were inserted before applied ones.
        let late: Int
        /// Number of both peers' events whose position became final while this peer was a member.
        let confirmed: Int
        /// Number of the peer's own events that were sent again because the other lacked them.
        let resent: Int
        /// Number of copies of the complete session with which this peer joined.
        let copies: Int
        /// Number of times that an earlier event was missing.
        let gaps: Int
        /// Number of the other peer's snapshots that were taken.
        let snapshots: Int
        let snapshotsSent: Int
        let snapshotRequests: Int
        let sendFailures: Int
        /// Number of bytes sent, as the codec wrote them.
        let bytesRaw: UInt64
        /// Number of bytes sent, with frames and compression.
        let bytesOnWire: UInt64
        let seconds: Double
        /// Number of times that a thread of the peer's process was woken, from start to end.
        let wakeups: Int
    }
#endif
