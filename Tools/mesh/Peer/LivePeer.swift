#if CommandLineTools
    import ArgumentParser
    import Foundation
    import MeshDelivery
    import MeshEngine
    import MeshIdentity
    import MeshTransport
    import Observation
    import WorkoutExample

    /// A peer that a person or a script controls by keys.
    @MainActor
    final class LivePeer {
        private enum Event: Sendable {
            case input(PeerInput)
            case change(LiveWorkoutChange)
            case signal(Int32)
            case remark(String)
            /// The ID of a peer that two devices use.
            case displaced(String)
            /// The shown status is out of date.
            case changed(showing: Int)
            /// Only times have changed. Sent only if the output is a terminal.
            case time
            /// A second has passed, for the heart rate sensor.
            case second
        }

        private let workout: LiveWorkout
        private let transport: LinkTransport
        private let output: PeerOutput
        private let terminal = RawTerminal()
        private var sensor: HeartRateSensor?
        private var isSuspended = false
        /// Counts how often the status was shown. Each observation belongs to one number.
        private var showing = 0
        /// Updates the time of a running workout on a terminal.
        private var clock: Task<Void, any Error>?
        private let events = AsyncStream.makeStream(of: Event.self)

        init(workout: LiveWorkout, transport: LinkTransport, output: PeerOutput, sensor: HeartRateSensor? = nil) {
            self.sensor = sensor
            self.workout = workout
            self.transport = transport
            self.output = output
        }

        /// Runs until the peer is asked to stop. Returns the signal, if it was one.
        /// - Throws: An error of the link if it can't start.
        func run() async throws -> Int32? {
            let (receive, changes) = (events.continuation, workout.changes)
            let stops = await SignalWatch([SIGINT, SIGTERM, SIGHUP]) { receive.yield(.signal($0)) }
            let others = await SignalWatch([SIGTSTP, SIGCONT, SIGWINCH]) { receive.yield(.signal($0)) }
            let tasks = [
                Task { for await change in changes { receive.yield(.change(change)) } },
                Task { [events = transport.diagnosticEvents(), showsTimes = output.isTerminal] in
                    for await event in events {
                        switch event {
                        case .displaced(let peerID): receive.yield(.displaced(peerID))
                        case .roundTrip where showsTimes: receive.yield(.time)
                        default: break
                        }
                    }
                },
            ]
            let seconds = sensor == nil ? nil : yield(.second, every: .seconds(1))
            defer {
                for task in tasks { task.cancel() }
                seconds?.cancel()
                clock?.cancel()
                others.cancel()
            }
            // The workout would start it too, but could only record the error.
            try transport.start()
            await workout.start()
            terminal?.enter()
            output.remark("\(workout.name): \(PeerKey.help)")
            show()
            PeerKeyboard.read { receive.yield(.input($0)) }

            let signal = await perform()
            output.clear()
            terminal?.leave()
            // A second signal ends the process at once.
            stops.cancel()
            await workout.stop()
            await transport.close()
            output.report("ended", leaveMessage, status)
            return signal
        }

        private func perform() async -> Int32? {
            for await event in events.stream {
                switch event {
                case .input(.key(.quit)), .input(.ended): return nil
                case .input(.key(.go)): removeAbsentMembers()
                case .input(.key(let key)): await press(key)
                case .input(.unknown(let character)):
                    output.report("refused", "'\(character)' isn't a key; the keys are \(PeerKey.help)", status)
                case .change(let change): report(change)
                case .remark(let text): output.report("message", text, status)
                case .displaced(let peerID): output.report("displaced", namesake(peerID), status)
                case .signal(SIGTSTP): suspend()
                case .signal(SIGCONT): resume()
                case .signal(SIGWINCH): break
                case .changed(let showing): if showing != self.showing { continue }
                case .time:
                    if !isSuspended { output.show(status) }
                    continue
                // If a rate can't be recorded, the next one replaces it.
                case .second: if let rate = sensor?.measure() { try? workout.measure(heartRate: rate) }
                case .signal(let number): return number
                }
                show()
            }
            return nil
        }

        /// Shows the status, and requests one notification when any of it changes.
        private func show() {
            guard !isSuspended else { return }
            showing += 1
            let (receive, showing) = (events.continuation, self.showing)
            output.show(
                withObservationTracking {
                    status
                } onChange: {
                    receive.yield(.changed(showing: showing))
                })

            let isClockShown = output.isTerminal && workout.state.phase == .running
            guard isClockShown != (clock != nil) else { return }
            clock?.cancel()
            clock = isClockShown ? yield(.time, every: .milliseconds(200)) : nil
        }

        private func yield(_ event: Event, every interval: Duration) -> Task<Void, any Error> {
            Task { [receive = events.continuation] in
                while true {
                    try await Task.sleep(for: interval)
                    receive.yield(event)
                }
            }
        }

        /// Stops the process like a shell's Ctrl-Z, with the terminal restored. Other threads still run for a moment.
        private func suspend() {
            isSuspended = true
            output.clear()
            terminal?.leave()
            kill(getpid(), SIGSTOP)
        }

        private func resume() {
            isSuspended = false
            terminal?.enter()
        }

        /// A function that reports events outside the workout, such as admitted and rejected peers.
        var remark: @Sendable (String) -> Void {
            let receive = events.continuation
            return { receive.yield(.remark($0)) }
        }

        private var status: PeerStatus { PeerStatus(workout, transport) }

        private func press(_ key: PeerKey) async {
            guard let tap = key.tap else { return }
            do {
                try await workout.tap(tap)
                output.report("tapped", "you: \(tap.rawValue)", status)
            } catch {
                output.report("refused", "\(error)", status)
            }
        }

        private func removeAbsentMembers() {
            do {
                try workout.removeAbsentMembers()
                output.report("message", "removed the peers that are away", status)
            } catch {
                output.report("refused", "\(error)", status)
            }
        }

        private func report(_ change: LiveWorkoutChange) {
            switch change {
            case .status: break
            case .opened: output.report("opened", "a new workout\(invited)", status)
            case .joined: output.report("joined", "joined the workout", status)
            case .watching: output.report("watching", "a workout is in progress; this peer only shows it", status)
            case .superseded:
                output.report("superseded", "another peer's workout replaces this one", status)
            case .tapped(let event, let peerID): output.report("tapped", "\(name(of: peerID)): \(event.name)", status)
            case .alarm(.notAdmitted): break
            case .alarm(.fenced):
                output.report("fenced", "the others removed this peer; it joins them again", status)
            case .alarm(let alarm): output.report("alarm", "\(alarm)", status)
            case .storeFailed(let error): output.report("failed", "the store: \(error)", status)
            }
        }

        private var invited: String {
            let names = workout.companions.filter(\.isMember).map(\.name)
            return names.isEmpty ? "; the first peer to connect may join" : " with \(names.joined(separator: ", "))"
        }

        private var leaveMessage: String {
            let names = workout.companions.filter { $0.isMember && $0.isReachable }.map(\.name)
            guard workout.state.phase != .finished, !names.isEmpty else { return "\(workout.name) has left" }
            return "\(workout.name) has left; the workout continues with \(names.joined(separator: ", "))"
        }

        private func namesake(_ peerID: String) -> String {
            guard peerID != transport.localPeer.id else {
                return "another peer named '\(workout.name)' has replaced this one: "
                    + "give one of them another name"
            }
            return "'\(name(of: peerID))' has reconnected; if two peers have that name, give one of them another name"
        }

        private func name(of peerID: String) -> String {
            workout.companions.first { $0.peerID == peerID }?.name ?? String(peerID.prefix(8))
        }
    }

    extension WorkoutEvent {
        var name: String {
            switch self {
            case .start: "start"
            case .pause: "pause"
            case .resume: "resume"
            case .lap: "lap"
            case .finish: "finish"
            }
        }
    }
#endif
