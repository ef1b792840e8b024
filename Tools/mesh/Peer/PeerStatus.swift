#if CommandLineTools
    import Foundation
    import MeshBase
    import MeshDelivery
    import MeshIdentity
    import MeshSession
    import WorkoutExample

    /// What a live peer shows. The keys are a contract with scripts: more may come, none goes.
    struct PeerStatus: Encodable {
        let name: String
        /// This peer's part in the workout: none, member or spectator.
        let part: LiveWorkout.Part
        let phase: WorkoutPhase
        let elapsedSeconds: Double
        let laps: Int
        /// Events that made the state, of all peers.
        let events: Int
        /// Measurements that are kept, as far as they have come here.
        let samples: Int
        /// Those of the events that every member has, at their final place.
        let confirmed: Int
        /// Taps that every member has, at their final place: the confirmed events, and those that the policy refuses.
        let confirmedTaps: UInt64
        /// Peers whose taps count, this one among them, and how often that has changed.
        let members: Int
        let view: UInt64
        /// Of the state; equal on peers that agree.
        let digest: String
        let sessionID: UUID?
        let peers: [Peer]

        struct Peer: Encodable, Equatable {
            let id: String
            let name: String
            let isConnected: Bool
            /// upToDate, behind, joining, watching; left where it said so, away where it did not.
            let sync: String
            /// Events that it has not acknowledged.
            let behind: UInt64
            let roundTripMilliseconds: Double?
            /// Beats a minute, as it shows them now.
            let heartRate: Int?
        }

        @MainActor
        init(_ workout: LiveWorkout, _ transport: LinkTransport) {
            let state = workout.state
            name = workout.name
            part = workout.part
            phase = state.phase
            elapsedSeconds = workout.elapsed
            laps = state.laps.count
            events = state.eventCount
            samples = workout.totals.sampleCount
            confirmedTaps = workout.session?.confirmedCount ?? 0
            confirmed =
                workout.session.map {
                    max(0, min(Int(clamping: $0.confirmedCount), state.eventCount - $0.unconfirmedEffectCount))
                } ?? 0
            members = workout.session?.memberIDs.count ?? 0
            view = workout.session?.viewNumber ?? 0
            digest = state.digest
            sessionID = workout.invitation?.sessionID
            let known = Dictionary(transport.knownPeers.map { ($0.id, $0) }) { first, _ in first }
            peers = workout.companions.map { companion in
                let roundTrip = known[companion.peerID].flatMap { transport.roundTrip(to: $0) }
                return Peer(companion, isWorkout: workout.invitation != nil, roundTrip: roundTrip)
            }
        }

        /// Whether something else has changed than time.
        func differs(from other: PeerStatus) -> Bool {
            (part, phase, laps, events, digest, sessionID) != (
                other.part, other.phase, other.laps, other.events, other.digest, other.sessionID
            )
                || (confirmed, confirmedTaps, members, view) != (
                    other.confirmed, other.confirmedTaps, other.members, other.view
                )
                || peers.map(\.withoutTime) != other.peers.map(\.withoutTime)
        }
    }

    extension PeerStatus.Peer {
        fileprivate init(_ companion: WorkoutCompanion, isWorkout: Bool, roundTrip: Duration?) {
            id = companion.peerID
            name = companion.name
            isConnected = companion.isReachable
            var behind: UInt64 = 0
            if !companion.isReachable {
                sync = companion.hasLeft ? "left" : "away"
            } else if !isWorkout {
                sync = "ready"
            } else if !companion.isMember {
                sync = "watching"
            } else {
                switch companion.sync {
                case .upToDate: sync = "upToDate"
                case .behind(let count):
                    sync = "behind"
                    behind = count
                case .waiting, .provisional, .notAdmitted, .elsewhere, nil: sync = "joining"
                }
            }
            self.behind = behind
            roundTripMilliseconds = companion.isReachable ? roundTrip.map { $0.seconds * 1_000 } : nil
            heartRate = companion.heartRate
        }

        fileprivate var withoutTime: [String] {
            [id, name, sync, "\(behind)", "\(isConnected)", heartRate.map { "\($0)" } ?? ""]
        }

        /// For people.
        var text: String {
            let place =
                switch sync {
                case "upToDate": "✓"
                case "behind": "\(behind) behind"
                case "ready": "here"
                default: sync
                }
            return "\(name) \(place)" + (heartRate.map { " \($0) bpm" } ?? "")
                + (roundTripMilliseconds.map { String(format: " round trip %.1f ms", $0) } ?? "")
        }
    }

    extension PeerStatus {
        static let separator = " · "

        /// One line for people.
        var text: String {
            let time = Int(elapsedSeconds * 10)
            let clock = String(format: "%d:%02d.%d", time / 600, time / 10 % 60, time % 10)
            let workout =
                part == .none ? ["no workout"] : ["\(clock) \(phase.rawValue)", laps == 1 ? "1 lap" : "\(laps) laps"]
            let watching = part == .spectator ? ["watching only"] : []
            return (workout + watching + (peers.isEmpty ? ["no other peer yet"] : peers.map(\.text)))
                .joined(separator: Self.separator)
        }
    }
#endif
