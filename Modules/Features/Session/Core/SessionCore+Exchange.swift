import Foundation
import MeshBase
import MeshEngine
import MeshIdentity
import MeshSeries
import MeshTransport

// Pacing of controls (Convergence.md, rule 2: every control carries a promise; rules 19 and 20: which peer is absent).
//
// - pace: how soon the next control leaves, as a multiple of the exchange interval: 1/5 to 300.
// - quiescent: the members in reach hold and have confirmed the same events, so there is nothing to report.
// - announced silence: the time until a sender speaks again, stated in each control. Absence is measured from its end.
// - repeat: a control with the same facts as the last one, or a request for the same events. After 20 repeats the delay
//   doubles, up to 10 intervals. A peer that becomes reachable resets the count.
// Docs/Internals/Glossary.md defines the terms.

/// The schedule of the next control.
struct ExchangeSchedule {
    enum Pace: Int, Comparable {
        /// The members in reach hold the same events, and all of them announce how long they are silent.
        case quiescent
        /// The members in reach hold the same events, and one of them has a version that announces no silence.
        case idle
        /// There are samples to report.
        case samples
        case regular, requesting
        /// The members are deciding on a change of membership.
        case deciding
        case acknowledging

        static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }

        func interval(_ regular: Duration, samples: Duration = .zero) -> Duration {
            switch self {
            case .quiescent: regular * 300
            case .idle: regular * 10
            case .samples: max(regular, samples)
            case .regular: regular
            case .requesting, .deciding: regular / 4
            case .acknowledging: regular / 5
            }
        }
    }

    /// The parts of a control that a peer's answer can change.
    struct Facts: Equatable {
        let group: SessionSource?
        let isSealed: Bool
        let view: UInt64
        let held: SequenceVector
        let position: UInt64
        let missing: [SessionRange]
        let heard: [String: HeardPeer.Progress]

        /// The first missing event of each range.
        var gaps: [SourceSequence] { missing.map { SourceSequence(source: $0.source, sequence: $0.first) } }
    }

    private(set) var scheduled: Pace?
    /// The time of the scheduled control.
    private var due: Date?
    /// Number of remote events since the last control.
    var unacknowledgedCount = 0
    /// The facts of the last control, and the number of controls since then with the same facts.
    private(set) var facts: Facts?
    private(set) var repeatCount = 0
    /// Number of controls since the last one with other gaps. Later events that arrive don't answer a request.
    private var requestCount = 0
    private(set) var lastSentAt: Date?

    /// Resets the schedule when a control leaves.
    mutating func begin(_ facts: Facts, at moment: Date) {
        lastSentAt = moment
        repeatCount = facts == self.facts ? repeatCount + 1 : 0
        requestCount = !facts.missing.isEmpty && facts.gaps == self.facts?.gaps ? requestCount + 1 : 0
        (self.facts, scheduled, due, unacknowledgedCount) = (facts, nil, nil, 0)
    }

    mutating func schedule(_ pace: Pace, at due: Date) { (scheduled, self.due) = (pace, due) }

    /// Returns true if the scheduled control is due soon enough to leave together with shown values that leave now.
    func leavesWithShownValues(at moment: Date, within slack: Duration) -> Bool {
        guard scheduled == .regular, let due else { return false }
        return due.timeIntervalSince(moment) <= 2 * slack.seconds
    }

    /// Resets the back-off for a peer that has heard none of the repeats.
    mutating func forgetRepeats() { (repeatCount, requestCount) = (0, 0) }

    /// Returns the delay of the next control. Repeats that change nothing become rare.
    func interval(_ pace: Pace, _ regular: Duration, samples: Duration, backsOff: Bool) -> Duration {
        let interval = pace.interval(regular, samples: samples)
        let repeats = pace == .requesting ? max(repeatCount, requestCount) : repeatCount
        guard backsOff, pace == .regular || pace == .requesting, repeats > Self.repeatsMax else { return interval }
        return min(interval * (1 << min(repeats - Self.repeatsMax, 6)), Pace.idle.interval(regular))
    }

    private static var repeatsMax: Int { 20 }

    /// Number of remote events after which a control leaves at once. Their sender stops at its bound of unconfirmed
    /// events, so it must not wait for a timer.
    static var unacknowledgedMax: Int { 512 }
}

/// Facts about a peer: its last report, its silence and its link.
struct HeardPeer {
    var at: Date
    /// Start of the present period in which the peer was never silent for too long.
    var since: Date
    /// The incarnation that was heard last.
    var incarnation: UInt32?
    private(set) var held = SequenceVector()
    var position: UInt64 = 0
    /// The sequence up to which the peer sent events that didn't arrive; 0 if none are lost.
    var lostThrough: UInt64 = 0
    var isNotAdmitted = false
    /// The last time that the transport reported the peer as reachable or unreachable.
    var linkChangedAt: Date?
    /// True if the peer sent a number outside its bounds, which is reported once.
    var isOutOfRange = false
    /// Seconds of silence that the peer announced; nil if its version announces none.
    var silence: TimeInterval?

    /// True if the peer reads `ShortForm`.
    var readsShortForms = false

    /// The events that a peer holds, and the number that it has confirmed.
    struct Progress: Equatable {
        let held: SequenceVector
        let position: UInt64
    }

    var progress: Progress { Progress(held: held, position: position) }

    /// Maximum number of peers that are remembered.
    static var countMax: Int { 256 }
    /// Maximum number of bytes of peer IDs in `held`. 1,025 sources with IDs of 64 bytes need half of it.
    static var heldBytesMax: Int { 128 << 10 }

    init(at moment: Date) { (at, since) = (moment, moment) }

    /// Sets the vector that the peer reported. An oversized vector counts as empty, so the peer isn't considered up to
    /// date.
    mutating func setHeld(_ held: SequenceVector) {
        let bytes = held.entries.reduce(0) { $0 + $1.source.peerID.utf8.count }
        self.held = bytes <= Self.heldBytesMax ? held : SequenceVector()
    }
}

extension SessionCore {
    /// Sends a control now, and schedules the next one.
    /// - Parameter isClosing: sends samples too, because no more will come.
    mutating func exchangeNow(isClosing: Bool = false) {
        guard isRunning else { return }
        updateOwnPeers()
        removeRevokedMembers()
        suspectAbsentMembers()
        let isHeard = !isAlone || facts != exchange.facts
        exchange.begin(facts, at: moment.now)
        engine.tick(at: moment.now, sendsDigest: isHeard)
        retryCopyRequest()
        forgetAbsentEphemerals()
        publishStateToSpectators()
        reportSeries(isClosing: isClosing)
        wake()
        runEffects()
        scheduleExchange(exchangePace)
    }

    /// Sends the scheduled control together with this round's shown values, if the control is due soon.
    mutating func exchangeWithShownValues() {
        guard hasShownValuesToSend,
            exchange.leavesWithShownValues(at: moment.now, within: configuration.exchangeInterval / 8)
        else { return }
        exchangeNow()
    }

    /// Returns a longer delay for a control that is due after `delay`, so that it leaves with the next shown values and
    /// needs no message of its own. It ends just after those values are expected, in case they don't come. nil if none
    /// are expected within one exchange interval after the control is due.
    private func waitForShownValues(after delay: Duration) -> Duration? {
        let exchange = configuration.exchangeInterval
        guard let sentAt = ephemeralsSentAt, let gap = ephemeralGap, gap > 0, gap <= 2 * exchange.seconds else {
            return nil
        }
        let due = moment.now + delay.seconds
        let expected = sentAt + (due.timeIntervalSince(sentAt) / gap).rounded(.up) * gap
        let wait = expected.timeIntervalSince(due)
        guard (0...exchange.seconds).contains(wait), due.timeIntervalSince(sentAt) <= gap + 2 * exchange.seconds else {
            return nil
        }
        return delay + .seconds(wait) + exchange / 8
    }

    private var facts: ExchangeSchedule.Facts {
        ExchangeSchedule.Facts(
            group: engine.group, isSealed: engine.isSealed, view: engine.view, held: engine.held,
            position: engine.chain.position, missing: engine.missing, heard: heard.mapValues(\.progress))
    }

    /// Schedules a control after a turn that has added to `exchange.unacknowledgedCount`.
    mutating func acknowledgeSoon() {
        // While something is missing, request the next range as soon as the last one may have arrived.
        let limit = engine.gapCount > 0 || isLagging ? engine.options.rangeMax : ExchangeSchedule.unacknowledgedMax
        if exchange.unacknowledgedCount >= limit { return exchangeNow() }
        scheduleExchange(.acknowledging)
    }

    /// Schedules the next exchange at that pace, unless one at that or a faster pace is scheduled.
    mutating func scheduleExchange(_ pace: ExchangeSchedule.Pace) {
        guard isRunning, exchange.scheduled.map({ $0 < pace }) ?? true else { return }
        // No back-off near nonmembers: while a device joins, or its admission is decided, engines forget silent peers.
        var interval = exchange.interval(
            pace, configuration.exchangeInterval, samples: configuration.seriesInterval,
            backsOff: engine.isSealed && nonmemberPeerIDs.isDisjoint(with: reachablePeerIDs))
        // The peer with the lowest ID speaks first and the others answer, so that the radio wakes once.
        if pace == .quiescent, reachablePeerIDs.contains(where: { $0 < engine.localPeerID }) {
            interval += configuration.exchangeInterval
        }
        if pace == .regular, let wait = waitForShownValues(after: interval) { interval = wait }
        if let suspicion = secondsUntilSuspicion { interval = min(interval, .seconds(suspicion)) }
        exchange.schedule(pace, at: moment.now + interval.seconds)
        directives.exchangeIn = interval
        silenceMaximum = max(silenceMaximum, interval)
        engine.announce(silenceMilliseconds: UInt64(max(0, interval.seconds * 1_000)))
    }

    var exchangePace: ExchangeSchedule.Pace {
        if isAlone { return canStaySilent ? .quiescent : .idle }
        if engine.isViewWanted { return .deciding }
        if !engine.missing.isEmpty || isLagging { return .requesting }
        if !isQuiescent || series.isFetching { return .regular }
        if series.lacksSamples(from: seriesPeers) { return .samples }
        return canStaySilent ? .quiescent : .idle
    }

    /// True if silence means that all is well: the link reports lost peers, the peers in reach have announced their own
    /// silence, and the app's side effects have run.
    var canStaySilent: Bool {
        reportsReachability && effects.next == nil && nonmemberPeerIDs.isDisjoint(with: reachablePeerIDs)
            && reachablePeerIDs.allSatisfy { peerID in heard[peerID].map { $0.silence != nil } ?? true }
    }

    /// Answers a control while this device has nothing to report. A peer that announces a short silence still lacks an
    /// answer, so this device sends a control soon. If this device has itself been silent for long, it sends its next
    /// control at once, so that both devices wake the radio together.
    mutating func answer(_ control: SessionControl, of peerID: String) {
        guard control.isDigest, exchange.scheduled == .quiescent, let silence = heard[peerID]?.silence else { return }
        let pace = ExchangeSchedule.Pace.self
        if silence < pace.idle.interval(configuration.exchangeInterval).seconds {
            scheduleExchange(.regular)
        } else if let lastSentAt = exchange.lastSentAt,
            moment.now.timeIntervalSince(lastSentAt) * 2
                >= pace.quiescent.interval(configuration.exchangeInterval).seconds
        {
            exchangeNow()
        }
    }

    mutating func receive(_ change: SessionPeerReachability) {
        guard isRunning else { return }
        if let peer = change.peer {
            reportsReachability = true
            if change.isReachable { reachablePeerIDs.insert(peer.id) } else { reachablePeerIDs.remove(peer.id) }
            heard[peer.id]?.linkChangedAt = moment.now
            if !change.isReachable { handleUnreachable(peer.id) }
        }
        directives.showsStatus = true
        guard change.isReachable else { return }
        exchange.forgetRepeats()
        series.forgetKnowledge(of: change.peer?.id)
        sendAllEphemerals()
        if let staleSnapshot {
            // A peer is in reach, so the snapshot no longer counts as too old.
            self.staleSnapshot = nil
            receive(staleSnapshot)
        }
        if engine.hasHistory { answer(change.peer) }
        exchangeNow()
    }

    private mutating func handleUnreachable(_ peerID: String) {
        forgetEphemerals(of: peerID)
        publishPendingState()
        // The peer may now be suspected earlier or later.
        scheduleExchange(.regular)
    }

    // MARK: - Status

    /// True if the last events of a peer are missing. No later event reveals that gap, but the peer's promise does.
    var isLagging: Bool {
        heard.contains { $0.value.lostThrough > 0 && $0.value.lostThrough > heldSequence(of: $0.key) }
    }

    /// Seconds of silence after which a peer counts as gone: 20 exchange intervals more than it announced. A peer of an
    /// earlier version announces none and speaks every ten intervals.
    func silenceMax(of peerID: String) -> TimeInterval {
        20 * configuration.exchangeInterval.seconds + announcedSilence(of: peerID)
    }

    func announcedSilence(of peerID: String) -> TimeInterval {
        heard[peerID]?.silence ?? ExchangeSchedule.Pace.idle.interval(configuration.exchangeInterval).seconds
    }

    /// Returns true if the transport reports the peer as gone, or if it has been silent for too long.
    func isGone(_ peerID: String, heardAt: Date) -> Bool {
        if reportsReachability, !reachablePeerIDs.contains(peerID) { return true }
        let heardAt = max(heardAt, heard[peerID]?.at ?? heardAt)
        return abs(moment.now.timeIntervalSince(heardAt)) > silenceMax(of: peerID)
    }

    /// True if no peer is reachable, as far as the transport reports it. An exchange follows at once when that changes.
    var isAlone: Bool {
        reachablePeerIDs.isEmpty && (reportsReachability || (heard.isEmpty && moment.knownPeers.isEmpty))
    }

    /// True if there is nothing to report: all members in reach hold and have confirmed the same, and have said so.
    private var isQuiescent: Bool {
        guard engine.isSealed, !engine.hasEnded || engine.isOver, !engine.isChangingView else { return false }
        let members = engine.membership.open.map(\.source)
        let others = members.filter { $0 != engine.source }
        let present = others.filter { !reportsReachability || reachablePeerIDs.contains($0.peerID) }
        // Events may stay unconfirmed while a member is absent: the group waits for it, or suspects it in time.
        guard engine.unconfirmedCount == 0 || present.count < others.count else { return false }
        return present.allSatisfy { member in
            guard let heard = heard[member.peerID], heard.position == engine.chain.position else { return false }
            return members.allSatisfy { heard.held[$0] == engine.held[$0] }
        }
    }

    /// True if a reachable member lacks this device's events or samples, or doesn't know of the session's end.
    var hasReachableMemberBehind: Bool {
        acknowledgedByReachableMembers.contains { $0 < engine.held[engine.source] }
            || engine.hasEnded && reachableMembers.contains { !engine.knowsEnd($0) }
            || series.needsExchange(with: seriesPeers)
    }

    var acknowledgedByReachableMembers: [UInt64] {
        reachableMembers.map { engine.acknowledged(by: $0)[engine.source] }
    }

    private var reachableMembers: [SessionSource] {
        engine.membership.open.map(\.source)
            .filter { $0 != engine.source && reachablePeerIDs.contains($0.peerID) }
    }
}
