#if CommandLineTools && Inspector
    import MeshDiagnostics
    import MeshInspector
    import MeshTransport
    import WorkoutExample

    /// An inspector of a live peer: its workout, and the recorded traffic of its transport.
    @MainActor
    struct PeerInspection {
        let inspector: Inspector
        let recorder: DiagnosticsSession

        /// - Throws: `ToolError`.
        init(_ transport: any SessionSyncTransport, _ options: InspectOptions) async throws {
            inspector = try await options.start()
            recorder = DiagnosticsSession(wrapping: transport)
            // Before the lobby opens the session: `follow` would miss its first events.
            recorder.recordPayloads(of: WorkoutEvent.self, featureID: WorkoutSession.workoutFeatureID)
            inspector.follow(recorder)
        }

        /// Shows the workout's current session until cancelled.
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
