import Foundation
import MeshBase

/// The time from a session's start to its stop. Warns if a session is released shortly after its start: the app
/// hasn't kept it in a variable.
final class SessionRun: Sendable {
    private let place: StartedSessions.Place
    private let uptime: @Sendable () -> Duration
    private let warn: @Sendable (String) -> Void
    private let startedAt = Locked<Duration?>(nil)

    /// The time from the start after which a release counts as intended.
    private static var shortest: Duration { .seconds(2) }

    init(
        _ place: StartedSessions.Place, uptime: @escaping @Sendable () -> Duration,
        warn: @escaping @Sendable (String) -> Void
    ) {
        (self.place, self.uptime, self.warn) = (place, uptime, warn)
    }

    deinit {
        guard let startedAt = end() else { return }
        #if DEBUG
            let age = uptime() - startedAt
            guard age < Self.shortest, Self.isNew(place.featureID) else { return }
            warn(
                """
                the session of '\(place.featureID)' was released \(Int(age / .milliseconds(1))) ms after start(), so it neither \
                sends nor receives. Keep it in a variable that lives as long as the feature, or call close().
                """)
        #endif
    }

    func begin() {
        let isNew = startedAt.withLock { startedAt in
            defer { startedAt = uptime() }
            return startedAt == nil
        }
        if isNew { StartedSessions.begin(place) }
    }

    /// Ends the run. Returns the uptime at its start; nil if the session wasn't running.
    @discardableResult
    func end() -> Duration? {
        let startedAt = startedAt.withLock { $0.take() }
        if startedAt != nil { StartedSessions.end(place) }
        return startedAt
    }

    #if DEBUG
        /// Features that have been warned about, 32 at most.
        private static let warned = Locked<Set<String>>([])

        private static func isNew(_ featureID: String) -> Bool {
            warned.withLock { $0.count < 32 && $0.insert(featureID).inserted }
        }
    #endif
}

/// The sessions that run in this process, and the last 256 that have stopped. A peer that runs one of them isn't
/// mistaken about its ID: this device runs it too, or has moved on to another one first.
enum StartedSessions {
    /// A session on a device. Tests and servers run several devices in one process.
    struct Place: Hashable, Sendable {
        let peerID: String
        let featureID: String
        /// The session; nil stands for all sessions of the feature.
        var sessionID: UUID?

        var feature: Place { Place(peerID: peerID, featureID: featureID) }
    }

    private struct State {
        /// Number of running sessions, by session and by feature.
        var running: [Place: Int] = [:]
        /// Sessions that have stopped, oldest first.
        var ended: [Place] = []
    }

    private static var endedMax: Int { 256 }
    private static let state = Locked(State())

    static func begin(_ place: Place) {
        state.withLock { for place in [place, place.feature] { $0.running[place, default: 0] += 1 } }
    }

    static func end(_ place: Place) {
        state.withLock { state in
            for place in [place, place.feature] {
                let rest = (state.running[place] ?? 0) - 1
                state.running[place] = rest > 0 ? rest : nil
            }
            state.ended.removeAll { $0 == place }
            state.ended = (state.ended + [place]).suffix(endedMax)
        }
    }

    static func contains(_ place: Place) -> Bool {
        state.withLock { state in
            state.running[place] != nil
                || state.ended.contains { place.sessionID == nil ? $0.feature == place : $0 == place }
        }
    }
}
