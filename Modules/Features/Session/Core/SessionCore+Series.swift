import Foundation
import MeshBase
import MeshEngine
import MeshIdentity
import MeshSeries
import MeshTransport

/// When series were last told.
struct SeriesSchedule {
    /// Everything, and samples.
    var fullAt = Date.distantPast
    var pushedAt = Date.distantPast

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
        scheduleExchange(.samples)
    }

    /// What was written may be told.
    mutating func settleSeries() {
        series.settle()
        directives.showsSeries = true
        if series.hasUnwritten { wake() }
        if series.isBehind(seriesPeers) { scheduleExchange(.samples) }
        if series.unpushedCount >= SeriesSchedule.pushedMax { scheduleExchange(.regular) }
    }

    /// With each exchange: how far series are, and from time to time samples.
    /// - Parameter atOnce: samples too, as no more will come.
    mutating func tellSeries(atOnce: Bool = false) {
        guard !isAlone else { return }
        let isFull = isDue(&seriesSchedule.fullAt, after: configuration.exchangeInterval * 10)
        let isMuch = atOnce || series.unpushedCount >= SeriesSchedule.pushedMax
        let pushes = isDue(&seriesSchedule.pushedAt, after: isMuch ? .zero : configuration.seriesInterval)
        outgoing.seriesMessages += series.messages(
            reachable: seriesPeers, isFull: isFull, pushesSamples: pushes, limit: seriesMessageBytes)
        if !outgoing.seriesMessages.isEmpty { wake() }
    }

    private func isDue(_ last: inout Date, after interval: Duration) -> Bool {
        guard abs(moment.now.timeIntervalSince(last)) >= interval.seconds else { return false }
        last = moment.now
        return true
    }

    /// Peers that may answer.
    var seriesPeers: Set<String> { tellsReachability ? reachablePeerIDs : Set(heard.keys) }

    /// As much of samples as goes into one message.
    var seriesMessageBytes: Int { min(SeriesSchedule.messageBytesMax, pieceBytes) }

    /// - Throws: `WireError` for what no peer says that means well.
    mutating func receiveSeries(_ erased: AnySessionSyncEnvelope) throws {
        let peerID = erased.metadata.sourcePeerID
        guard peerID != engine.localPeerID, engine.hears(peerID) else { return }
        let message = try erased.decodePayload(as: SeriesMessage.self).checked()
        guard message.receiver ?? engine.localPeerID == engine.localPeerID else { return }
        let refused = series.refusedCount
        defer {
            statistics.samplesRefused += series.refusedCount - refused
            outgoing.seriesMessages += series.nextRequest(limit: seriesMessageBytes).map { [$0] } ?? []
            directives.showsSeries = true
            wake()
        }
        if let serving = try series.receive(message, from: peerID, isMember: isOpenMember(peerID)) {
            directives.servings.append(serving)
        }
    }
}
