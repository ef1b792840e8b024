import MeshBase
import MeshEngine
import MeshIdentity

/// What is shown and changes with nearly every turn.
///
/// A key path of a generic class is put together anew, in microseconds, wherever it is written; an observed property
/// writes one each time that it is read or set. So the paths of these are made once for each session (`ShownPaths`), and
/// inside of it values are read where they lie.
struct ShownValues<State> {
    var state: State
    var peers: [SessionPeerStatus] = []
    var confirmedCount: UInt64 = 0
    var statistics = SessionStatistics()
    /// Moves on when `delivery(of:)` may say something else.
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
    /// What is decided, is decided there. It is lent where it lies: a copy costs microseconds here, where nothing is known of
    /// its types. So never lend it to a call that suspends.
    var core: Core {
        _read { yield heldCore }
        _modify {
            coreVersion &+= 1
            yield &heldCore
        }
    }
}

extension SyncedSession {
    /// The feature's state as this peer sees it now, local events included.
    public var state: State {
        access(keyPath: shownPaths.state)
        return shown.state
    }

    /// The status of every known peer, ordered by ID.
    public var peers: [SessionPeerStatus] {
        access(keyPath: shownPaths.peers)
        return shown.peers
    }

    /// Events whose place will never change, since the group began.
    public var confirmedCount: UInt64 {
        access(keyPath: shownPaths.confirmedCount)
        return shown.confirmedCount
    }

    /// The counters of the session since it was created. They change with nearly every event or message: observe them
    /// only where you show them.
    public var statistics: SessionStatistics {
        access(keyPath: shownPaths.statistics)
        return shown.statistics
    }

    /// Reading it lets a view follow what becomes of its events.
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
