#if CommandLineTools
    import ArgumentParser
    import MeshSimulation
    import MeshToolOutput

    extension SimulateCommand {
        func validateResume() throws {
            guard (1...10_000).contains(clients) else { throw ValidationError("--clients is from 1 to 10000") }
            if mutations || mutate != nil, !Simulation.canBreakRules {
                throw ValidationError("this build breaks no rules; build it with MESH_MUTATIONS=1 in the environment")
            }
            if let mutate, !ResumeSimulation.mutationNames.contains(mutate) {
                let known = ResumeSimulation.mutationNames.joined(separator: ", ")
                throw ValidationError("no rule of resuming is called '\(mutate.printable())'; there are \(known)")
            }
        }

        func simulateResume() throws {
            if mutations { return try proveResumeMutations() }
            let simulation = ResumeSimulation(clients: clients, mutation: mutate)
            let report = run { simulation.run($0, stopsAtFailure: first, progress: $1) }
            try show(report, "\(report.seen.grouped) events seen on \(report.connections.grouped) connections")
        }

        private func proveResumeMutations() throws {
            let progress = ProgressLine()
            let rows = ResumeSimulation.mutationNames.map { name in
                progress.show(name)
                let simulation = ResumeSimulation(clients: clients, mutation: name)
                return MutationRow(name, simulation.run(from..<(from + seeds), stopsAtFailure: true))
            }
            progress.clear()
            try show(rows)
        }
    }
#endif
