import Foundation
import MeshBase
import MeshEngine
import MeshIdentity
import MeshSeries
import MeshTransport

/// When the next control leaves.
struct ExchangeSchedule {
    enum Pace: Int, Comparable {
        case idle, samples, regular, missing, soon

        static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }

        func interval(_ regular: Duration, samples: Duration) -> Duration {
            switch self {
            case .idle: regular * 10
            case .samples: max(regular, samples)
            case .regular: regular
            case .missing: regular / 4
            case .soon: regular / 5
            }
        }
    }

    var scheduled: Pace?
    /// Remote events since the last control.
    var unacknowledgedCount = 0

    /// A sender stops at its bound of unconfirmed events: it must not wait for the clock.
    static var unacknowledgedMax: Int { 512 }
}

/// What a peer said last.
struct HeardPeer {
    var at: Date
    /// Since then it has been heard without a long silence.
    var since: Date
    /// Of its life that was heard last.
    var incarnation: UInt32?
    var held = SequenceVector()
    var position: UInt64 = 0
    /// The sequence up to which its events were sent and did not come.
    var lostThrough: UInt64 = 0
    var isNotAdmitted = false
    /// It stated what nobody counts to.
    var isOutOfRange = false

    /// Of more peers than this nothing is remembered.
    static var countMax: Int { 256 }

    init(at moment: Date) { (at, since) = (moment, moment) }
}

extension SessionCore {
    /// Tells the peers what is held here, and goes on doing so.
    mutating func exchangeNow() {
        guard isRunning else { return }
        regardOwnPeers()
        suspectTheAbsent()
        engine.tick(at: moment.now)
        exchange = ExchangeSchedule()
        askForCopyAgain()
        renewEphemerals()
        showSpectators()
        tellSeries()
        wake()
        runEffects()
        scheduleExchange(exchangePace)
    }

    /// After a turn that has added to `exchange.unacknowledgedCount`.
    mutating func acknowledgeSoon() {
        // While something is missing: as soon as what was asked for last may have come.
        let limit = engine.gapCount > 0 || isLagging ? engine.options.rangeMax : ExchangeSchedule.unacknowledgedMax
        if exchange.unacknowledgedCount >= limit { return exchangeNow() }
        scheduleExchange(.soon)
    }

    /// Makes the next exchange come that soon, unless it comes sooner anyway.
    mutating func scheduleExchange(_ pace: ExchangeSchedule.Pace) {
        guard isRunning, exchange.scheduled.map({ $0 < pace }) ?? true else { return }
        exchange.scheduled = pace
        directives.exchangeIn = pace.interval(configuration.exchangeInterval, samples: configuration.seriesInterval)
    }

    var exchangePace: ExchangeSchedule.Pace {
        if isAlone { return .idle }
        if !engine.missing.isEmpty || isLagging || engine.isViewWanted { return .missing }
        if !isSettled || series.isFetching { return .regular }
        return series.isBehind(seriesPeers) ? .samples : .idle
    }

    mutating func receive(_ change: SessionPeerReachability) {
        guard isRunning else { return }
        if let peer = change.peer {
            tellsReachability = true
            if change.isReachable { reachablePeerIDs.insert(peer.id) } else { reachablePeerIDs.remove(peer.id) }
            if !change.isReachable { forgetEphemerals(of: peer.id) }
        }
        directives.showsStatus = true
        guard change.isReachable else { return }
        series.greet(change.peer?.id)
        if let staleSnapshot {
            // Now a live peer stands behind it.
            self.staleSnapshot = nil
            receive(staleSnapshot)
        }
        if engine.hasHistory { answer(change.peer) }
        exchangeNow()
    }

    // MARK: - How things stand

    /// The last events of a peer are missing: no later one shows a gap, but the peer has said how far it is.
    var isLagging: Bool {
        heard.contains { $0.value.lostThrough > 0 && $0.value.lostThrough > heldSequence(of: $0.key) }
    }

    /// Seconds after which a peer that tells nothing is not here: three times as long as one that is there may be silent.
    var silenceMax: TimeInterval { 30 * configuration.exchangeInterval.seconds }

    /// The transport says so, or it was not heard since for long.
    func isGone(_ peerID: String, heardAt: Date) -> Bool {
        tellsReachability && !reachablePeerIDs.contains(peerID)
            || abs(moment.now.timeIntervalSince(heardAt)) > silenceMax
    }

    /// Nobody can be reached, as far as the transport tells; when that changes, an exchange follows at once.
    var isAlone: Bool {
        reachablePeerIDs.isEmpty && (tellsReachability || (heard.isEmpty && moment.knownPeers.isEmpty))
    }

    /// Nothing is to be said: every member holds and has confirmed everything, and has said so.
    private var isSettled: Bool {
        guard engine.isSealed, engine.unconfirmedCount == 0, !engine.hasEnded || engine.isOver else { return false }
        let members = engine.membership.open.map(\.source)
        return members.filter { $0 != engine.source }.allSatisfy { member in
            guard let heard = heard[member.peerID], heard.position == engine.chain.position else { return false }
            return members.allSatisfy { heard.held[$0] == engine.held[$0] }
        }
    }

    /// A member that can be reached has not acknowledged every own event, or does not know of the end.
    var isSomebodyBehind: Bool {
        acknowledgedByReachableMembers.contains { $0 < engine.held[engine.source] }
            || engine.hasEnded && reachableMembers.contains { !engine.knowsEnd($0) }
            || series.isBehind(seriesPeers)
    }

    var acknowledgedByReachableMembers: [UInt64] {
        reachableMembers.map { engine.acknowledged(by: $0)[engine.source] }
    }

    private var reachableMembers: [SessionSource] {
        engine.membership.open.map(\.source)
            .filter { $0 != engine.source && reachablePeerIDs.contains($0.peerID) }
    }
}
