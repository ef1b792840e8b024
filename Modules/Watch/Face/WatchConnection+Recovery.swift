import MeshBase
import MeshConnection

extension WatchConnection {
    /// Maximum time for the counterpart to answer a probe.
    static let probeTimeout = Duration.seconds(5)

    /// Activates the session again, then checks it with a round trip. `diagnosticEvents` and `sessionHealth` report the
    /// result.
    public func attemptRecovery() async {
        core.diagnostics.publish(.recoveryAttempted)
        session.activate()
        do {
            try await waitForActivation(timeout: Self.activationTimeout)
            try await requests.probe(timeout: Self.probeTimeout)
            core.diagnostics.publish(.recoverySucceeded)
        } catch {
            core.health.recoveryFailed()
            core.diagnostics.publish(.recoveryFailed(error: WatchConnectionError(error: error)))
        }
    }
}
