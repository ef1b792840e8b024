import Foundation
import MeshBase
import MeshEngine
import MeshIdentity
import MeshSeries
import MeshTransport

/// When series were last told.
struct SeriesSchedule {
    /// Everything, anything, and samples.
    var fullAt = Date.distantPast
    var toldAt = Date.distantPast
    var pushedAt = Date.distantPast
    /// When samples came whose recorders haven't heard that they have come: the first and the last.
    var news: (since: Date, at: Date)?
    /// How often in a row a peer was told that has not said that it holds the samples.
    var retryCount = 0

    /// The intervals between a sample's arrival and its acknowledgement: after the last sample, which is before its recorder
    /// repeats it, and at most.
    static var answerIntervals: (after: Double, most: Double) { (1.25, 24) }
    /// Intervals after which what a peer lacks is told again; they double.
    var retryIntervals: Double { 1.5 * Double(1 << min(retryCount, 5)) }

    /// Samples that are told at once, however soon after the last.
    static var pushedMax: UInt64 { 64 }
    /// Bytes in a message, where the transport takes that much.
    static var messageBytesMax: Int { 32 << 10 }
}

/// Samples beside the order. They share the store's writes with events, and pass by the engine.
extension SessionCore {
    /// Nothing, to be loaded from a store that has something.
    static func makeSeries(
        _ featureID: String, _ sessionID: UUID, _ peerID: String,
        _ configuration: SyncedSessionConfiguration<State, Event>
    ) -> SeriesShelf {
        SeriesShelf(
            peerID: peerID, prefix: SessionArchive<State, Event>.seriesPrefix(featureID, sessionID),
            byteCountMax: configuration.seriesBytesMax, newLife: configuration.randomSeed)
    }

    /// - Returns: whether `beginWritingSamples` is to be called.
    mutating func record<Sample>(_ sample: Sample, in samples: Series<Sample>, at time: Int64) throws -> Bool {
        guard !engine.hasEnded else { throw SessionSyncError.sessionEnded }
        try series.record(sample, in: samples, at: time)
        return !outgoing.needsRound
    }

    mutating func beginWritingSamples() {
        directives.showsSeries = true
        wake()
    }

    /// What was written may be told.
    mutating func settleSeries() {
        series.settle()
        directives.showsSeries = true
        if series.hasUnwritten { wake() }
        if series.hasForeignNews { seriesSchedule.news = (seriesSchedule.news?.since ?? moment.now, moment.now) }
        scheduleSeries()
    }

    /// With each exchange: how far series are, and from time to time samples.
    /// - Parameter isClosing: all that a peer lacks, as no more will come.
    mutating func tellSeries(isClosing: Bool = false) {
        guard !isAlone else { return }
        series.ageFetch(reachable: seriesPeers)
        let isFull = isDue(&seriesSchedule.fullAt, after: configuration.exchangeInterval * 300)
        let isLacking = isClosing || seriesRetry.map { $0 <= moment.now } ?? false
        let telling: SeriesShelf.Telling = isFull ? .everything : isLacking ? .lacking : .news
        tellSeries(telling, atOnce: isClosing, answers: true)
    }

    /// Between exchanges, which cost a control.
    mutating func tellDueSeries() {
        guard isRunning, !isAlone else { return }
        let isRetry = seriesRetry.map { $0 <= moment.now } ?? false
        if isRetry || seriesDue.map({ $0 <= moment.now }) ?? false {
            tellSeries(isRetry ? .lacking : .news)
        } else {
            scheduleSeries()
        }
    }

    /// Adds news that is due within a second to a round that shows values, because that round sends anyway.
    mutating func tellSeriesAlong(in round: inout OutgoingQueue) {
        guard let due = seriesDue, due <= moment.now + 2 * seriesLeeway else { return }
        tellSeries(.news, atOnce: true)
        round.seriesMessages += outgoing.seriesMessages
        outgoing.seriesMessages = []
    }

    private var seriesLeeway: TimeInterval { configuration.exchangeInterval.seconds / 2 }

    /// - Parameters:
    ///   - atOnce: sends new samples before they are due.
    ///   - answers: acknowledges before that is due.
    private mutating func tellSeries(_ telling: SeriesShelf.Telling, atOnce: Bool = false, answers: Bool = false) {
        // Peers ask for samples that are announced without being sent.
        let isDueNow = atOnce || telling != .news || series.unpushedCount >= SeriesSchedule.pushedMax
        let pushes = isDue(&seriesSchedule.pushedAt, after: isDueNow ? .zero : configuration.seriesInterval)
        let answers = answers || telling != .news || answersDue.map { $0 <= moment.now } ?? false
        if answers { seriesSchedule.news = nil }
        let hasNews = pushes && series.unpushedCount > 0
        let messages = series.messages(
            reachable: seriesPeers, telling: telling, pushesSamples: pushes, answers: answers,
            limit: seriesMessageBytes)
        if messages.contains(where: { !$0.holdings.isEmpty }) {
            seriesSchedule.toldAt = moment.now
            seriesSchedule.retryCount = telling == .news || hasNews ? 0 : seriesSchedule.retryCount + 1
        }
        outgoing.seriesMessages += messages
        if !outgoing.seriesMessages.isEmpty { wake() }
        scheduleSeries()
    }

    /// Tells series in time, whether or not there is an exchange.
    private mutating func scheduleSeries() {
        guard isRunning, let due = [seriesDue, seriesRetry].compactMap({ $0 }).min() else { return }
        directives.seriesIn = .seconds(max(0, due.timeIntervalSince(moment.now)))
    }

    /// When something new is to be told; nil if nothing is.
    private var seriesDue: Date? {
        let interval = configuration.seriesInterval.seconds
        var dates: [Date] = []
        if series.unpushedCount > 0 {
            let isMuch = series.unpushedCount >= SeriesSchedule.pushedMax
            // Waits for the next shown value.
            let isShowing = ephemeralsSentAt.map { moment.now < $0 + 4 * seriesLeeway } ?? false
            let due = seriesSchedule.pushedAt + interval + (isShowing ? seriesLeeway : 0)
            dates.append(isMuch ? moment.now : max(moment.now, due))
        }
        if let answersDue { dates.append(answersDue) }
        return dates.min()
    }

    /// When those that record samples are to hear that they have come; nil if they have heard.
    private var answersDue: Date? {
        // However often a peer asks, all hear it once in an interval.
        if series.isAskedAgain {
            return max(moment.now, seriesSchedule.toldAt + configuration.exchangeInterval.seconds)
        }
        guard let news = seriesSchedule.news else { return nil }
        let (interval, wait) = (configuration.seriesInterval.seconds, SeriesSchedule.answerIntervals)
        return min(news.since + wait.most * interval, news.at + wait.after * interval)
    }

    /// When what a peer lacks is told again; nil if none lacks anything.
    private var seriesRetry: Date? {
        guard series.isLacking(seriesPeers) else { return nil }
        return seriesSchedule.toldAt + seriesSchedule.retryIntervals * configuration.seriesInterval.seconds
    }

    private func isDue(_ last: inout Date, after interval: Duration) -> Bool {
        guard abs(moment.now.timeIntervalSince(last)) >= interval.seconds else { return false }
        last = moment.now
        return true
    }

    /// Peers that may answer.
    var seriesPeers: Set<String> {
        (tellsReachability ? reachablePeerIDs : Set(heard.keys)).filter { heard[$0] != nil && engine.hears($0) }
    }

    /// As much of samples as goes into one message.
    var seriesMessageBytes: Int { min(SeriesSchedule.messageBytesMax, pieceBytes) }

    /// - Throws: `WireError` for what no peer says that means well.
    mutating func receiveSeries(
        _ erased: AnySessionSyncEnvelope, _ read: (AnySessionSyncEnvelope, SeriesShelf) throws -> SeriesMessage
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
            // What doesn't come is asked for again with an exchange.
            if series.isFetching { scheduleExchange(.regular) }
            wake()
        }
        if let serving = try series.receive(message, from: peerID, isMember: isOpenMember(peerID)) {
            directives.servings.append(serving)
        }
    }
}
