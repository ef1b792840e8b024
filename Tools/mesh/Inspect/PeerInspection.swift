#if CommandLineTools && Inspector
    import MeshDiagnostics
    import MeshInspector
    import MeshTransport
    import WorkoutExample

    /// A live peer's transport, recorded, and its workout, in an inspector.
    @MainActor
    struct PeerInspection {
        let inspector: Inspector
        let recorder: DiagnosticsSession

        /// - Throws: `ToolError`.
        init(_ transport: any SessionSyncTransport, _ options: InspectOptions) async throws {
            inspector = try await options.start()
            recorder = DiagnosticsSession(wrapping: transport)
            // Before the lobby opens the session, whose first events `follow` would miss.
            recorder.recordPayloads(of: WorkoutEvent.self, featureID: WorkoutSession.workoutFeatureID)
            inspector.follow(recorder)
        }

        /// Shows whichever session the workout has, until it is cancelled.
        func follow(_ workout: LiveWorkout) -> Task<Void, any Error> {
            Task { @MainActor in
                var shown: (session: WorkoutSession, task: Task<Void, Never>)?
                defer { shown?.task.cancel() }
                while true {
                    if let session = workout.session, session !== shown?.session {
                        shown?.task.cancel()
                        shown = (session, inspector.follow(session))
                    }
                    try await Task.sleep(for: .milliseconds(200))
                }
            }
        }
    }
#endif
