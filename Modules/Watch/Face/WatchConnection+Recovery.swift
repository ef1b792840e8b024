import MeshBase
import MeshConnection

extension WatchConnection {
    /// How long the counterpart may take to answer a probe.
    static let probePatience = Duration.seconds(5)

    /// Activates the session anew, and then proves with a round trip that it works. What comes of it,
    /// `diagnosticEvents` and `sessionHealth` say.
    public func attemptRecovery() async {
        core.diagnostics.publish(.recoveryAttempted)
        session.activate()
        do {
            try await waitForActivation(timeout: Self.activationPatience)
            try await requests.probe(timeout: Self.probePatience)
            core.diagnostics.publish(.recoverySucceeded)
        } catch {
            core.health.recoveryFailed()
            core.diagnostics.publish(.recoveryFailed(error: WatchConnectionError(error: error)))
        }
    }
}
