#if CommandLineTools
    import ArgumentParser
    import MeshSimulation
    import MeshToolOutput

    extension SimulateCommand {
        func validateMailboxes() throws {
            guard let mutate, !MailboxSimulation.mutationNames.contains(mutate) else { return }
            let known = MailboxSimulation.mutationNames.joined(separator: ", ")
            throw ValidationError("no rule of mailboxes is called '\(mutate.printable())'; there are \(known)")
        }

        func simulateMailboxes() throws {
            if mutations { return try proveMailboxMutations() }
            let simulation = MailboxSimulation(mutation: mutate)
            let report = run { simulation.run($0, stopsAtFailure: first, progress: $1) }
            try show(report, "\(report.received.grouped) messages taken on \(report.connections.grouped) connections")
        }

        private func proveMailboxMutations() throws {
            let progress = ProgressLine()
            let rows = MailboxSimulation.mutationNames.map { name in
                progress.show(name)
                let simulation = MailboxSimulation(mutation: name)
                return MutationRow(name, simulation.run(from..<(from + seeds), stopsAtFailure: true))
            }
            progress.clear()
            try show(rows)
        }
    }
#endif
