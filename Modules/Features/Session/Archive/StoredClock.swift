import Foundation
import MeshEngine

/// A device's clock as a session goes by it, for a launch of the app while the system goes on running.
struct StoredClock: Codable, Equatable, Sendable {
    /// Names the start of the system from which uptime counts.
    let bootID: String
    /// The moment at an uptime of zero.
    let origin: Date
    /// See `SessionCore.steadySince`.
    var steadySince: Date
    /// Whose clock the session goes by, and when that last changed.
    var owner: String?
    var ownerSince: Date?
    /// What round trips have told of the owner's clock, if it is another device's.
    var bounds: ClockBounds?

    /// Whether it says what a clock can show.
    var isPossible: Bool {
        [origin, steadySince, ownerSince ?? origin].allSatisfy { $0.timeIntervalSinceReferenceDate.isFinite }
    }

    /// Whether the store needs it anew. Bounds age by 100 parts per million, so older ones still do.
    func replaces(_ stored: StoredClock?) -> Bool {
        guard var stored else { return true }
        let age = bounds?.measuredAt.timeIntervalSince(stored.bounds?.measuredAt ?? .distantPast) ?? 0
        if stored.bounds?.steadySince == bounds?.steadySince, age < Self.boundsAgeMax { stored.bounds = bounds }
        return stored != self
    }

    /// Seconds.
    private static var boundsAgeMax: TimeInterval { 600 }
}
