#if CommandLineTools
    import Foundation
    import MeshBase
    import MeshDelivery
    import MeshIdentity
    import MeshSession
    import WorkoutExample

    /// The status that a live peer shows. Scripts rely on the keys: later versions may add keys but never remove one.
    struct PeerStatus: Encodable {
        let name: String
        /// This peer's part in the workout: none, member or spectator.
        let part: LiveWorkout.Part
        let phase: WorkoutPhase
        let elapsedSeconds: Double
        let laps: Int
        /// Number of events of all peers that made the state.
        let events: Int
        /// Number of samples held here from the device with the longest distance.
        let samples: Int
        /// Number of events in the state that every member has and whose order is final.
        let confirmed: Int
        /// Number of taps that every member has and whose order is final. Includes those that the policy rejects.
        let confirmedTaps: UInt64
        /// Number of peers whose taps count, including this one.
        let members: Int
        let view: UInt64
        /// Digest of the state. Equal on peers that agree.
        let digest: String
        let sessionID: UUID?
        let peers: [Peer]

        struct Peer: Encodable, Equatable {
            let id: String
            let name: String
            let isConnected: Bool
            /// One of upToDate, behind, joining, watching, or ready if there is no workout. For a peer that isn't connected: left
            /// if it said goodbye, else away.
            let sync: String
            /// Number of events that the peer has not acknowledged; 0 unless `sync` is behind.
            let behind: UInt64
            let roundTripMilliseconds: Double?
            /// Current heart rate in beats a minute.
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

        /// True if anything but times and the number of samples has changed.
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

        /// The peer as text for people.
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

        /// The status as one line for people.
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
