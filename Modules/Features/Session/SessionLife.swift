import Foundation
import MeshBase

/// The time from a session's start to its stop. Warns if the session is released shortly after its start: then it isn't kept in a
/// variable.
final class SessionLife: Sendable {
    private let place: StartedSessions.Place
    private let uptime: @Sendable () -> Duration
    private let warn: @Sendable (String) -> Void
    private let startedAt = Locked<Duration?>(nil)

    /// A session that lived longer was kept, and its owner has released it.
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
        startedAt.withLock { $0 = uptime() }
        StartedSessions.add(place)
    }

    /// - Returns: when it began, if it has not ended before.
    @discardableResult
    func end() -> Duration? { startedAt.withLock { $0.take() } }

    #if DEBUG
        /// Features that were warned of, 32 at most.
        private static let warned = Locked<Set<String>>([])

        private static func isNew(_ featureID: String) -> Bool {
            warned.withLock { $0.count < 32 && $0.insert(featureID).inserted }
        }
    #endif
}

/// The sessions that were started in this process, the newest 256. A peer that runs one of them isn't mistaken about its ID: this
/// device runs it too, or has moved on from it before the peer.
enum StartedSessions {
    /// A session on a device. Tests and servers run several devices in one process.
    struct Place: Hashable, Sendable {
        let peerID: String
        let featureID: String
        let sessionID: UUID
    }

    private static var countMax: Int { 256 }
    /// Oldest first.
    private static let places = Locked<[Place]>([])

    static func add(_ place: Place) {
        places.withLock { places in
            places.removeAll { $0 == place }
            places = (places + [place]).suffix(countMax)
        }
    }

    /// - Parameter sessionID: nil asks for any session of the feature.
    static func contains(_ featureID: String, _ sessionID: UUID?, on peerID: String) -> Bool {
        places.withLock { places in
            places.contains { place in
                place.peerID == peerID && place.featureID == featureID
                    && sessionID ?? place.sessionID == place.sessionID
            }
        }
    }
}
