#if CommandLineTools
    import ArgumentParser
    import MeshSimulation
    import MeshToolOutput

    extension SimulateCommand {
        func validateLobby() throws {
            if let members, !(2...5).contains(members) {
                throw ValidationError("--members is from 2 to 5 with --lobby")
            }
            if mutations || mutate != nil, !Simulation.canBreakRules {
                throw ValidationError("this build breaks no rules; build it with MESH_MUTATIONS=1 in the environment")
            }
            guard #available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *) else { return }
            if let mutate, !LobbySimulation.mutationNames.contains(mutate) {
                let known = LobbySimulation.mutationNames.joined(separator: ", ")
                throw ValidationError("no rule of the lobby is called '\(mutate.printable())'; there are \(known)")
            }
        }

        func simulateLobby() throws {
            guard #available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *) else {
                throw ToolError("--lobby needs a newer system")
            }
            if mutations { return try proveLobbyMutations() }
            var simulation = LobbySimulation(devices: members, mutation: mutate)
            simulation.comparesRecorder = recorded
            let teller = shrink ? nil : tracer
            let report: LobbyReport = run { [simulation] seeds, progress in
                simulation.run(seeds, trace: teller, stopsAtFailure: first || shrink, progress: progress)
            }
            let counts = report.seedsByDevices.keys.sorted().map { devices in
                let (seeds, failing) = (report.seedsByDevices[devices] ?? 0, report.failuresByDevices[devices] ?? 0)
                return "\(devices) devices: \(seeds.grouped) seeds, \(failing.grouped) failing"
            }
            var parts = [
                "\(report.taps.grouped) taps, all agreed at the latest \(report.slowestSeconds.figure) s after it healed",
                counts.joined(separator: "\n"),
            ]
            if let failure = report.failures.first { parts.append(account(of: failure, simulation)) }
            if report.failures.isEmpty, let seed { parts.append(simulation.schedule(ofSeed: seed)) }
            try show(report, parts.joined(separator: "\n\n"))
        }

        @available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
        private func account(of failure: SeedFailure, _ simulation: LobbySimulation) -> String {
            var words = ["replay with: plugins-tool simulate --lobby --seed \(failure.seed)"]
            if let members { words.append("--members \(members)") }
            if let mutate { words.append("--mutate \(mutate)") }
            words.append("--shrink")
            let replay = words.joined(separator: " ")
            guard shrink, let small = simulation.shrunk(seed: failure.seed) else { return replay }
            if trace { tracer?(small.account) }
            return "seed \(failure.seed) without what it does not need: \(small.failure)\n\(small.schedule)\n\(replay)"
        }

        /// Breaks every rule of the lobby in turn.
        @available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
        private func proveLobbyMutations() throws {
            let progress = ProgressLine()
            let rows = LobbySimulation.mutationNames.map { name in
                progress.show(name)
                let simulation = LobbySimulation(devices: members, mutation: name)
                return MutationRow(name, simulation.run(from..<(from + seeds), stopsAtFailure: true))
            }
            progress.clear()
            try show(rows)
        }
    }
#endif
