import MeshBase
import MeshEngine
import MeshIdentity

/// The observed values that change with nearly every turn.
///
/// In a generic class, each evaluation of a key path literal builds the path anew, which takes microseconds. Observed
/// properties evaluate one with each read and write. So a session builds the key paths of these values once
/// (`ShownPaths`), and its own code reads their storage.
struct ShownValues<State> {
    var state: State
    var peers: [SessionPeerStatus] = []
    var confirmedCount: UInt64 = 0
    var statistics = SessionStatistics()
    /// Changes whenever the result of `delivery(of:)` may have changed.
    var deliveryTurn: UInt64 = 0
}

struct ShownPaths<Session, State> {
    let state: KeyPath<Session, State>
    let peers: KeyPath<Session, [SessionPeerStatus]>
    let confirmedCount: KeyPath<Session, UInt64>
    let statistics: KeyPath<Session, SessionStatistics>
    let deliveryTurn: KeyPath<Session, UInt64>
}

extension SyncedSession {
    /// The core, which makes all decisions. Yielded in place: copying it takes microseconds, because its types aren't
    /// known here. So never pass it to a call that suspends.
    var core: Core {
        _read { yield coreStorage }
        _modify {
            coreVersion &+= 1
            yield &coreStorage
        }
    }
}

extension SyncedSession {
    /// The feature's state on this device now, local events included.
    public var state: State {
        access(keyPath: shownPaths.state)
        return shown.state
    }

    /// The status of every known peer, ordered by ID.
    public var peers: [SessionPeerStatus] {
        access(keyPath: shownPaths.peers)
        return shown.peers
    }

    /// Number of confirmed events since the group began.
    public var confirmedCount: UInt64 {
        access(keyPath: shownPaths.confirmedCount)
        return shown.confirmedCount
    }

    /// The counters of the session since it was created. They change with nearly every event or message, so observe
    /// them only where you show them.
    public var statistics: SessionStatistics {
        access(keyPath: shownPaths.statistics)
        return shown.statistics
    }

    /// Changes whenever the result of `delivery(of:)` may have changed, so that a view that reads it is updated.
    var deliveryTurn: UInt64 {
        access(keyPath: shownPaths.deliveryTurn)
        return shown.deliveryTurn
    }
}

// MARK: - Once a turn

extension SyncedSession {
    func show(state: State) { withMutation(keyPath: shownPaths.state) { shown.state = state } }

    func show(_ peers: [SessionPeerStatus]) {
        guard shown.peers != peers else { return }
        withMutation(keyPath: shownPaths.peers) { shown.peers = peers }
        statusTopic.publish(peers)
    }

    func show(confirmedCount count: UInt64) {
        guard shown.confirmedCount != count else { return }
        withMutation(keyPath: shownPaths.confirmedCount) { shown.confirmedCount = count }
    }

    func show(_ statistics: SessionStatistics) {
        guard shown.statistics != statistics else { return }
        withMutation(keyPath: shownPaths.statistics) { shown.statistics = statistics }
    }

    func showDeliveries() { withMutation(keyPath: shownPaths.deliveryTurn) { shown.deliveryTurn &+= 1 } }
}
