import MeshBase
import MeshFoundation

/// A record of the users' actions in the sessions of a run, and of the first failure.
final class LobbyLedger: Sendable {
    private struct Facts {
        var taps: [UUID: TapLedger] = [:]
        /// Devices that have ended a session and haven't crashed since.
        var enders: [UUID: Set<Int>] = [:]
        var failure: String?
    }

    private let facts = Locked(Facts())

    var failure: String? { facts.withLock { $0.failure } }

    func fail(_ reason: String) {
        facts.withLock { facts in
            if facts.failure == nil { facts.failure = reason }
        }
    }

    func add(_ number: UInt32, to sessionID: UUID, on device: Int) {
        facts.withLock { $0.taps[sessionID, default: TapLedger()].add(number, on: device) }
    }

    func note(_ number: UInt32, in sessionID: UUID, _ standing: TapLedger.Standing) {
        facts.withLock { $0.taps[sessionID]?.note(number, standing) }
    }

    func end(_ sessionID: UUID, on device: Int) {
        facts.withLock { _ = $0.enders[sessionID, default: []].insert(device) }
    }

    func crash(_ device: Int, losesStore: Bool) {
        facts.withLock { facts in
            for id in facts.taps.keys {
                facts.taps[id]?.crash(of: device)
                if losesStore { facts.taps[id]?.loseStore(of: device) }
            }
            for id in facts.enders.keys { facts.enders[id]?.remove(device) }
        }
    }

    /// True if the session must have ended.
    func isEnded(_ sessionID: UUID) -> Bool { facts.withLock { $0.enders[sessionID]?.isEmpty == false } }

    /// Returns the fault in a session's visible state, or nil.
    func fault(in shown: [UInt32], of sessionID: UUID) -> String? {
        facts.withLock { ($0.taps[sessionID] ?? TapLedger()).fault(in: shown) }
    }
}
