import Foundation
import MeshBase
import MeshEngine
import MeshIdentity
import MeshSeries
import MeshTransport

// Exchange of series, which are append-only. A peer reports how far it holds a series, and others request the rest.
//
// - holding: the range of a series that a device holds.
// - push: sending new own samples with the holdings.
// - answer: reporting holdings of others' samples, which acknowledges them.
// - retry: reporting again what a peer hasn't acknowledged. The interval doubles, up to 32 times the first.
//
// Intervals here are `seriesInterval`s unless a comment says otherwise.
// Docs/Internals/Glossary.md defines the terms.

/// The last times at which series were reported, and the state of answers and retries.
struct SeriesSchedule {
    /// The last times of reporting all series, of reporting any, and of pushing samples.
    var lastFullReportAt = Date.distantPast
    var lastReportAt = Date.distantPast
    var lastPushAt = Date.distantPast
    /// The arrival times of the first and the last sample that this device hasn't acknowledged.
    var unacknowledgedArrivals: (since: Date, at: Date)?
    /// Number of reports in a row without an acknowledgement.
    var retryCount = 0

    /// Number of intervals until this device acknowledges samples: `after` the last one arrived, but at `most` after
    /// the first one arrived. `after` is shorter than the first retry, so that recorders don't repeat samples.
    static var answerIntervals: (after: Double, most: Double) { (1.25, 24) }
    /// Number of intervals until series are reported again to a peer that lacks samples. Doubles with each retry.
    var retryIntervals: Double { 1.5 * Double(1 << min(retryCount, 5)) }

    /// Number of new samples at which they are sent at once, no matter how recent the last message is.
    static var pushedMax: UInt64 { 64 }
    /// Maximum number of bytes in a message, unless the transport takes less.
    static var messageBytesMax: Int { 32 << 10 }
}

/// Series. They share the store's writes with events, but bypass the engine.
extension SessionCore {
    /// Returns an empty replica, to be loaded from the store if there is one.
    static func makeSeries(
        _ featureID: String, _ sessionID: UUID, _ peerID: String,
        _ configuration: SyncedSessionConfiguration<State, Event>
    ) -> SeriesReplica {
        SeriesReplica(
            peerID: peerID, prefix: SessionArchive<State, Event>.seriesPrefix(featureID, sessionID),
            byteCountMax: configuration.seriesBytesMax, makeIncarnation: configuration.randomSeed)
    }

    /// Records a sample. Returns true if the caller must call `beginWritingSamples`.
    mutating func record<Sample>(_ sample: Sample, in samples: Series<Sample>, at time: Int64) throws -> Bool {
        guard !engine.hasEnded else { throw SessionSyncError.sessionEnded }
        try series.record(sample, in: samples, at: time)
        return !outgoing.needsRound
    }

    mutating func beginWritingSamples() {
        directives.showsSeries = true
        wake()
    }

    /// Reports samples after they were written.
    mutating func finishSeriesWrite() {
        series.batchCommitted()
        directives.showsSeries = true
        if series.hasUnwritten { wake() }
        if series.owesAcknowledgement {
            seriesSchedule.unacknowledgedArrivals = (
                seriesSchedule.unacknowledgedArrivals?.since ?? moment.now, moment.now
            )
        }
        scheduleSeries()
    }

    /// Reports holdings with an exchange, and sends samples that are due.
    /// - Parameter isClosing: sends everything that a peer lacks, because no more will come.
    mutating func reportSeries(isClosing: Bool = false) {
        guard !isAlone else { return }
        series.expireFetch(reachable: seriesPeers)
        let isFull = isDue(&seriesSchedule.lastFullReportAt, after: configuration.exchangeInterval * 300)
        let isLacking = isClosing || seriesRetry.map { $0 <= moment.now } ?? false
        let scope: SeriesReplica.AnnouncementScope = isFull ? .all : isLacking ? .unacknowledged : .unannounced
        reportSeries(scope, atOnce: isClosing, answers: true)
    }

    /// Reports due holdings between exchanges, without a control.
    mutating func reportDueSeries() {
        guard isRunning, !isAlone else { return }
        let isRetry = seriesRetry.map { $0 <= moment.now } ?? false
        if isRetry || seriesDue.map({ $0 <= moment.now }) ?? false {
            reportSeries(isRetry ? .unacknowledged : .unannounced)
        } else {
            scheduleSeries()
        }
    }

    /// Adds news due within an exchange interval to a round that shows values, which wakes the radio anyway.
    mutating func addDueSeries(to round: inout OutgoingQueue) {
        guard let due = seriesDue, due <= moment.now + 2 * seriesLeeway else { return }
        reportSeries(.unannounced, atOnce: true)
        round.seriesMessages += outgoing.seriesMessages
        outgoing.seriesMessages = []
    }

    private var seriesLeeway: TimeInterval { configuration.exchangeInterval.seconds / 2 }

    /// Reports the series in a scope. `atOnce` sends new samples before they are due. `answers` acknowledges samples
    /// before an acknowledgement is due.
    private mutating func reportSeries(
        _ scope: SeriesReplica.AnnouncementScope, atOnce: Bool = false, answers: Bool = false
    ) {
        // Other scopes also announce new samples, which peers would request if this message didn't contain them.
        let isDueNow = atOnce || scope != .unannounced || series.unsentCount >= SeriesSchedule.pushedMax
        let pushes = isDue(&seriesSchedule.lastPushAt, after: isDueNow ? .zero : configuration.seriesInterval)
        let answers = answers || scope != .unannounced || answersDue.map { $0 <= moment.now } ?? false
        if answers { seriesSchedule.unacknowledgedArrivals = nil }
        let hasNews = pushes && series.unsentCount > 0
        let messages = series.messages(
            reachable: seriesPeers, scope: scope, pushesSamples: pushes, answers: answers,
            limit: seriesMessageBytes)
        if messages.contains(where: { !$0.holdings.isEmpty }) {
            seriesSchedule.lastReportAt = moment.now
            seriesSchedule.retryCount = scope == .unannounced || hasNews ? 0 : seriesSchedule.retryCount + 1
        }
        outgoing.seriesMessages += messages
        if !outgoing.seriesMessages.isEmpty { wake() }
        scheduleSeries()
    }

    /// Schedules the next report, independent of exchanges.
    private mutating func scheduleSeries() {
        guard isRunning, let due = [seriesDue, seriesRetry].compactMap({ $0 }).min() else { return }
        directives.seriesIn = .seconds(max(0, due.timeIntervalSince(moment.now)))
    }

    /// The time at which news must be reported; nil if there is none.
    private var seriesDue: Date? {
        let interval = configuration.seriesInterval.seconds
        var dates: [Date] = []
        if series.unsentCount > 0 {
            let isMuch = series.unsentCount >= SeriesSchedule.pushedMax
            // Wait for the next shown value, to leave with it.
            let isShowing = ephemeralsSentAt.map { moment.now < $0 + 4 * seriesLeeway } ?? false
            let due = seriesSchedule.lastPushAt + interval + (isShowing ? seriesLeeway : 0)
            dates.append(isMuch ? moment.now : max(moment.now, due))
        }
        if let answersDue { dates.append(answersDue) }
        return dates.min()
    }

    /// The time at which recorders must get an acknowledgement; nil if they have it.
    private var answersDue: Date? {
        // Peers may ask often, but one report per exchange interval answers all of them.
        if series.owesRepeatedAcknowledgement {
            return max(moment.now, seriesSchedule.lastReportAt + configuration.exchangeInterval.seconds)
        }
        guard let arrivals = seriesSchedule.unacknowledgedArrivals else { return nil }
        let (interval, wait) = (configuration.seriesInterval.seconds, SeriesSchedule.answerIntervals)
        return min(arrivals.since + wait.most * interval, arrivals.at + wait.after * interval)
    }

    /// The time at which series are reported again to a peer that lacks samples; nil if none lacks any.
    private var seriesRetry: Date? {
        guard series.hasUnacknowledgedSamples(for: seriesPeers) else { return nil }
        return seriesSchedule.lastReportAt + seriesSchedule.retryIntervals * configuration.seriesInterval.seconds
    }

    private func isDue(_ last: inout Date, after interval: Duration) -> Bool {
        guard abs(moment.now.timeIntervalSince(last)) >= interval.seconds else { return false }
        last = moment.now
        return true
    }

    /// Peers that can answer: in reach, heard before, and accepted by the engine.
    var seriesPeers: Set<String> {
        (reportsReachability ? reachablePeerIDs : Set(heard.keys)).filter { heard[$0] != nil && engine.hears($0) }
    }

    /// Maximum number of bytes of samples in one message.
    var seriesMessageBytes: Int { min(SeriesSchedule.messageBytesMax, pieceBytes) }

    /// Receives a message about series. Throws `WireError` for one that no honest peer sends.
    mutating func receiveSeries(
        _ erased: AnySessionSyncEnvelope, _ read: (AnySessionSyncEnvelope, SeriesReplica) throws -> SeriesMessage
    ) throws {
        let peerID = erased.metadata.sourcePeerID
        guard peerID != engine.localPeerID, engine.hears(peerID) else { return }
        let message = try read(erased, series).checked()
        guard message.receiver ?? engine.localPeerID == engine.localPeerID else { return }
        let refused = series.refusedCount
        defer {
            statistics.samplesRefused += series.refusedCount - refused
            outgoing.seriesMessages += series.nextRequest(limit: seriesMessageBytes).map { [$0] } ?? []
            directives.showsSeries = true
            seriesSchedule.retryCount = 0
            scheduleSeries()
            // The next exchange requests lost samples again.
            if series.isFetching { scheduleExchange(.regular) }
            wake()
        }
        if let response = try series.receive(message, from: peerID, isMember: isOpenMember(peerID)) {
            directives.servings.append(response)
        }
    }
}
