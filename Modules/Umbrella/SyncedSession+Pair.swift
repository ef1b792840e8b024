import Foundation
import MeshIdentity
public import MeshScenarioTransport
public import MeshSession
import MeshTransport

extension SyncedSession where Reducer: SessionFeature, ConflictPolicy == Reducer {
    /// Creates two devices in memory that share a session of a feature: for a preview, a test, or a first try.
    ///
    /// ```swift
    /// let (phone, watch) = SessionOf<Score>.pair(Score())
    /// phone.send(.home)
    /// try await watch.state { $0.home == 1 }
    /// ```
    ///
    /// Both sessions have started. In a test, pass a network: its virtual time drives the sessions too, and passes only
    /// in `network.run(for:)` or `network.run(until:)`. Without one, real time passes while either session exists.
    /// - Parameter configure: changes the configuration of both sessions.
    public static func pair(
        _ feature: Reducer, in network: ScenarioNetwork? = nil,
        configure: (inout SyncedSessionConfiguration<State, Event>) -> Void = { _ in }
    ) -> (phone: SyncedSession, watch: SyncedSession) {
        let wires = network ?? ScenarioNetwork(seed: .random(in: 0 ... .max))
        let sessionID = UUID()
        func device(_ deviceClass: SessionPeerDeviceClass) -> SyncedSession {
            let peer = SessionPeer(
                id: deviceClass.rawValue, deviceClass: deviceClass, appInstanceID: "pair", topology: .pairedCompanion)
            let clock: any DeliveryClock = network?.clock(of: peer) ?? SystemClock()
            var configuration = SyncedSessionConfiguration<State, Event>(clock: clock)
            configure(&configuration)
            let session = SyncedSession(
                feature, sessionID: sessionID, over: wires.makeTransport(localPeer: peer), configuration: configuration)
            session.start()
            return session
        }
        let (phone, watch) = (device(.phone), device(.watch))
        if network == nil { drive(wires, for: phone, watch) }
        return (phone, watch)
    }

    private static func drive(_ network: ScenarioNetwork, for first: SyncedSession, _ second: SyncedSession) {
        Task { @MainActor [weak first, weak second] in
            let start = ContinuousClock.now
            while first != nil || second != nil {
                network.advance(by: start.duration(to: .now) - network.elapsed)
                try? await Task.sleep(for: .milliseconds(5))
            }
        }
    }
}
