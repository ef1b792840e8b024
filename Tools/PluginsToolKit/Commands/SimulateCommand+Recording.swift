#if CommandLineTools
    import ArgumentParser
    import Foundation
    import MeshBase
    import MeshDiagnostics
    import MeshSimulation
    import MeshToolOutput

    #if Inspector
        import MeshInspector
    #endif

    extension SimulateCommand {
        func validateRecording() throws {
            if delivery || watch || lobby || series || resume || model || mutations {
                throw ValidationError("--inspect and --record are for engines: none of the other simulations")
            }
            if setting == .original || setting == .lives {
                throw ValidationError("--inspect and --record are for every --setting but original and lives")
            }
            #if !Inspector
                if inspect {
                    throw ValidationError(
                        "this tool was built without the trait Inspector; build with it, or use --record and `mesh inspect`"
                    )
                }
            #endif
        }

        /// Runs the seed once more and shows what passed.
        /// - Throws: `ToolError` for a file that cannot be written.
        func show(_ seed: UInt64, of subjects: [SimulationSubject]) async throws {
            guard inspect || record != nil else { return }
            let entries = Locked<[DiagnosticsEntry]>([])
            let simulation = Simulation(
                subjects: subjects,
                options: SimulationOptions(
                    mutation: mutate, stores: store, setting: setting ?? .ordinary, members: members, isOwn: own,
                    record: { entry in
                        entries.withLock { entries in
                            guard entries.count < DiagnosticsRecording.entriesMax else { return }
                            var entry = entry
                            entry.number = UInt64(entries.count) + 1
                            entries.append(entry)
                        }
                    }))
            var schedule = simulation.schedule(of: seed)
            if shrink, let shrunk = simulation.shrunk(schedule) {
                schedule = shrunk
                entries.withLock { $0 = [] }
            }
            _ = simulation.outcome(of: schedule)
            let recording = DiagnosticsRecording(entries: entries.withLock { $0 })
            if let record {
                try OutputFile(record, option: "--record").write(recording.jsonLines)
                ToolOutput.remark("Seed \(seed) is in '\(record)': `mesh inspect` shows it.")
            }
            #if Inspector
                if inspect {
                    let inspector = try await Inspector.start(entriesMax: max(1, recording.entries.count))
                    inspector.add(recording)
                    ToolOutput.remark("Seed \(seed) is at \(inspector.address) until Ctrl-C.")
                    while true { try await Task.sleep(for: .seconds(3600)) }
                }
            #endif
        }
    }
#endif
