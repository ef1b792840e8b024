#if CommandLineTools
    import ArgumentParser
    import MeshSimulation
    import MeshToolOutput

    extension SimulateCommand {
        func validateKeys() throws {
            guard #available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *) else { return }
            let known = KeyWatchSimulation.mutationNames
            if mutations || mutate != nil, known.isEmpty {
                throw ValidationError("this build breaks no rules; build it with MESH_MUTATIONS=1 in the environment")
            }
            if let mutate, !known.contains(mutate) {
                let names = known.joined(separator: ", ")
                throw ValidationError("no rule of keys is called '\(mutate.printable())'; there are \(names)")
            }
        }

        func simulateKeys() throws {
            guard #available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *) else {
                throw ToolError("--keys needs a newer system")
            }
            if mutations { return try proveKeyMutations() }
            var simulation = KeyWatchSimulation()
            simulation.mutation = mutate
            let report = run { simulation.run($0, trace: tracer, stopsAtFailure: first, progress: $1) }
            try show(
                report,
                "\(report.changes.grouped) changes, synced at the latest \(report.slowestSeconds.figure) s after the last"
            )
        }

        @available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
        private func proveKeyMutations() throws {
            let progress = ProgressLine()
            let rows = KeyWatchSimulation.mutationNames.map { name in
                progress.show(name)
                var simulation = KeyWatchSimulation()
                simulation.mutation = name
                return MutationRow(name, simulation.run(from..<(from + seeds), stopsAtFailure: true))
            }
            progress.clear()
            try show(rows)
        }
    }
#endif
