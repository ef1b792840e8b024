import Foundation
import MeshBase
import MeshEngine
import MeshIdentity
import MeshSeries
import MeshTransport

/// When the next control leaves.
struct ExchangeSchedule {
    enum Pace: Int, Comparable {
        /// The members in reach hold the same, and judge this one by the silence that it announces.
        case settled
        /// The same, with a member of an earlier version.
        case idle
        /// Samples are to be told.
        case samples
        case regular, missing
        /// The members decide on a change of membership.
        case deciding
        case soon

        static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }

        func interval(_ regular: Duration, samples: Duration = .zero) -> Duration {
            switch self {
            case .settled: regular * 300
            case .idle: regular * 10
            case .samples: max(regular, samples)
            case .regular: regular
            case .missing, .deciding: regular / 4
            case .soon: regular / 5
            }
        }
    }

    /// The parts of a control that an answer of the peer can change.
    struct Facts: Equatable {
        let group: SessionSource?
        let isSealed: Bool
        let view: UInt64
        let held: SequenceVector
        let position: UInt64
        let missing: [SessionRange]
        let heard: [String: HeardPeer.Standing]
    }

    var scheduled: Pace?
    /// Remote events since the last control.
    var unacknowledgedCount = 0
    /// The facts of the last control, and the number of controls since then that had the same.
    private(set) var facts: Facts?
    private(set) var repeatCount = 0
    private(set) var saidAt: Date?

    /// A control leaves.
    mutating func begin(_ facts: Facts, at moment: Date) {
        saidAt = moment
        repeatCount = facts == self.facts ? repeatCount + 1 : 0
        (self.facts, scheduled, unacknowledgedCount) = (facts, nil, 0)
    }

    /// Whoever heard none of them has come.
    mutating func forgetRepeats() { repeatCount = 0 }

    /// Repeats become rare when they change nothing.
    func interval(_ pace: Pace, _ regular: Duration, samples: Duration, backsOff: Bool) -> Duration {
        let interval = pace.interval(regular, samples: samples)
        guard backsOff, pace == .regular || pace == .missing, repeatCount > Self.repeatsMax else { return interval }
        return min(interval * (1 << min(repeatCount - Self.repeatsMax, 6)), Pace.idle.interval(regular))
    }

    private static var repeatsMax: Int { 20 }

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
    private(set) var held = SequenceVector()
    var position: UInt64 = 0
    /// The sequence up to which its events were sent and did not come.
    var lostThrough: UInt64 = 0
    var isNotAdmitted = false
    /// When the transport last said that it can be reached, or can't.
    var linkChangedAt: Date?
    /// It stated what nobody counts to.
    var isOutOfRange = false
    /// Seconds for which it announced silence; nil of an earlier version.
    var silence: TimeInterval?

    /// It reads `ShortForm`.
    var readsShortForms = false

    /// The events that a peer holds, and the number that it has confirmed.
    struct Standing: Equatable {
        let held: SequenceVector
        let position: UInt64
    }

    var standing: Standing { Standing(held: held, position: position) }

    /// Of more peers than this nothing is remembered.
    static var countMax: Int { 256 }
    /// Maximum number of bytes of peer IDs in `held`. 1,025 sources with IDs of 64 bytes have half of it.
    static var heldBytesMax: Int { 128 << 10 }

    init(at moment: Date) { (at, since) = (moment, moment) }

    /// A statement with too many bytes counts as none, so the peer isn't taken for one that has everything.
    mutating func hear(_ held: SequenceVector) {
        let bytes = held.entries.reduce(0) { $0 + $1.source.peerID.utf8.count }
        self.held = bytes <= Self.heldBytesMax ? held : SequenceVector()
    }
}

extension SessionCore {
    /// Tells the peers what is held here, and goes on doing so.
    /// - Parameter isClosing: samples too, as no more will come.
    mutating func exchangeNow(isClosing: Bool = false) {
        guard isRunning else { return }
        regardOwnPeers()
        endRevoked()
        suspectTheAbsent()
        let isHeard = !isAlone || facts != exchange.facts
        exchange.begin(facts, at: moment.now)
        engine.tick(at: moment.now, speaks: isHeard)
        askForCopyAgain()
        forgetAbsentEphemerals()
        showSpectators()
        tellSeries(isClosing: isClosing)
        wake()
        runEffects()
        scheduleExchange(exchangePace)
    }

    private var facts: ExchangeSchedule.Facts {
        ExchangeSchedule.Facts(
            group: engine.group, isSealed: engine.isSealed, view: engine.view, held: engine.held,
            position: engine.chain.position, missing: engine.missing, heard: heard.mapValues(\.standing))
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
        // The engines of a newcomer, and of members that decide on one, forget peers that fall silent.
        var interval = exchange.interval(
            pace, configuration.exchangeInterval, samples: configuration.seriesInterval,
            backsOff: engine.isSealed && strangers.isDisjoint(with: reachablePeerIDs))
        // The first peer by ID speaks first and the others answer, so that the radio wakes once.
        if pace == .settled, reachablePeerIDs.contains(where: { $0 < engine.localPeerID }) {
            interval += configuration.exchangeInterval
        }
        if let suspicion = secondsUntilSuspicion { interval = min(interval, .seconds(suspicion)) }
        directives.exchangeIn = interval
        silenceMaximum = max(silenceMaximum, interval)
        engine.announce(silenceMilliseconds: UInt64(max(0, interval.seconds * 1_000)))
    }

    var exchangePace: ExchangeSchedule.Pace {
        if isAlone { return mayBeSilent ? .settled : .idle }
        if engine.isViewWanted { return .deciding }
        if !engine.missing.isEmpty || isLagging { return .missing }
        if !isSettled || series.isFetching { return .regular }
        if series.isWanting(of: seriesPeers) { return .samples }
        return mayBeSilent ? .settled : .idle
    }

    /// Whether silence says nothing wrong: the link tells who is gone, the peers in reach wait for as long as they are told, and
    /// the app's effects have run.
    var mayBeSilent: Bool {
        tellsReachability && effects.next == nil && strangers.isDisjoint(with: reachablePeerIDs)
            && reachablePeerIDs.allSatisfy { peerID in heard[peerID].map { $0.silence != nil } ?? true }
    }

    /// A peer that goes on asking is answered. One that breaks a long silence is joined, so that both wake the radio once.
    mutating func answer(_ control: SessionControl, of peerID: String) {
        guard control.isDigest, exchange.scheduled == .settled, let silence = heard[peerID]?.silence else { return }
        let pace = ExchangeSchedule.Pace.self
        if silence < pace.idle.interval(configuration.exchangeInterval).seconds {
            scheduleExchange(.regular)
        } else if let saidAt = exchange.saidAt,
            moment.now.timeIntervalSince(saidAt) * 2 >= pace.settled.interval(configuration.exchangeInterval).seconds
        {
            exchangeNow()
        }
    }

    mutating func receive(_ change: SessionPeerReachability) {
        guard isRunning else { return }
        if let peer = change.peer {
            tellsReachability = true
            if change.isReachable { reachablePeerIDs.insert(peer.id) } else { reachablePeerIDs.remove(peer.id) }
            heard[peer.id]?.linkChangedAt = moment.now
            if !change.isReachable { lose(peer.id) }
        }
        directives.showsStatus = true
        guard change.isReachable else { return }
        exchange.forgetRepeats()
        series.greet(change.peer?.id)
        sendAllEphemerals()
        if let staleSnapshot {
            // Now a live peer stands behind it.
            self.staleSnapshot = nil
            receive(staleSnapshot)
        }
        if engine.hasHistory { answer(change.peer) }
        exchangeNow()
    }

    private mutating func lose(_ peerID: String) {
        forgetEphemerals(of: peerID)
        publishOwedState()
        // Whether it is suspected, and when, has changed.
        scheduleExchange(.regular)
    }

    // MARK: - How things stand

    /// The last events of a peer are missing: no later one shows a gap, but the peer has said how far it is.
    var isLagging: Bool {
        heard.contains { $0.value.lostThrough > 0 && $0.value.lostThrough > heldSequence(of: $0.key) }
    }

    /// Seconds after which a peer that tells nothing is not here: some more than those for which it announced silence. A peer
    /// of an earlier version announces none, and says something every ten intervals.
    func silenceMax(of peerID: String) -> TimeInterval {
        20 * configuration.exchangeInterval.seconds + announcedSilence(of: peerID)
    }

    func announcedSilence(of peerID: String) -> TimeInterval {
        heard[peerID]?.silence ?? ExchangeSchedule.Pace.idle.interval(configuration.exchangeInterval).seconds
    }

    /// The transport says so, or it was not heard since for long.
    func isGone(_ peerID: String, heardAt: Date) -> Bool {
        if tellsReachability, !reachablePeerIDs.contains(peerID) { return true }
        let heardAt = max(heardAt, heard[peerID]?.at ?? heardAt)
        return abs(moment.now.timeIntervalSince(heardAt)) > silenceMax(of: peerID)
    }

    /// Nobody can be reached, as far as the transport tells; when that changes, an exchange follows at once.
    var isAlone: Bool {
        reachablePeerIDs.isEmpty && (tellsReachability || (heard.isEmpty && moment.knownPeers.isEmpty))
    }

    /// Nothing is to be said: every member in reach holds and has confirmed as much as this one, and has said so.
    private var isSettled: Bool {
        guard engine.isSealed, !engine.hasEnded || engine.isOver, !engine.isChangingView else { return false }
        let members = engine.membership.open.map(\.source)
        let others = members.filter { $0 != engine.source }
        let present = others.filter { !tellsReachability || reachablePeerIDs.contains($0.peerID) }
        // An absent member is waited for, or suspected in time.
        guard engine.unconfirmedCount == 0 || present.count < others.count else { return false }
        return present.allSatisfy { member in
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
