public import Foundation
import MeshBase
import MeshEngine
import MeshIdentity
public import MeshSeries
import MeshStorage

/// Series of samples, which are stored outside the order of events.
extension SyncedSession {
    /// Adds a sample to this device's series. It is written, and then sent together with later samples.
    ///
    /// A sample has no place in the order of events, so recording it waits for no peer. Lost messages and a long time
    /// out of reach leave no gap: peers request the samples that they lack. A sample survives a crash once
    /// `seriesStatuses` counts it as stored. Complexity: O(numbers in the sample).
    /// - Parameter moment: the time of the measurement; nil is now.
    /// - Throws: `WireError` with `encodingFailed` if a series can't hold the sample. `StorageError` with `oversized`
    ///   if series have `seriesBytesMax` bytes, or if 65,536 samples wait to be written. `sessionEnded`,
    ///   `sessionClosed`.
    public func record<Sample>(_ sample: Sample, in series: Series<Sample>, at moment: Date? = nil) throws {
        // Asks the core: reading the observed `phase` would cost more than the rest of the call.
        guard !core.isClosed else { throw SessionSyncError.sessionClosed }
        if !hasStarted { expectStart() }
        let time = try SampleTime.microseconds(moment ?? now)
        if try core.record(sample, in: series, at: time) { turn { $0.beginWritingSamples() } }
    }

    /// Returns the samples of a series that this device holds: of all devices or one, at all times or in a range. They
    /// are ordered by time. If all come from a single source, they stay in the order of recording.
    ///
    /// Loads all of them into memory; for large series use `forEachSamples`. Skips blocks without samples in the range.
    /// - Throws: `StorageError`, or `DecodingError` for samples that don't fit `Sample`.
    public func samples<Sample>(
        of series: Series<Sample>, by peerID: String? = nil, in times: ClosedRange<Date>? = nil
    ) async throws -> [RecordedSample<Sample>] {
        let all = Locked<[RecordedSample<Sample>]>([])
        try await forEachSamples(of: series, by: peerID, in: times) { samples in all.withLock { $0 += samples } }
        let samples = all.withLock { $0 }
        // A single source's samples stay in the order of recording, because its clock may have been set back.
        let sources = core.series.streams(named: series.name, by: peerID).count
        return sources > 1 ? samples.sorted { $0.moment < $1.moment } : samples
    }

    /// Passes samples to `body` in batches of at most 1,024, off the main actor: device by device, as recorded.
    ///
    /// - Parameter body: may throw to stop.
    public func forEachSamples<Sample>(
        of series: Series<Sample>, by peerID: String? = nil, in times: ClosedRange<Date>? = nil,
        _ body: @escaping @Sendable ([RecordedSample<Sample>]) throws -> Void
    ) async throws {
        let times = try Self.microseconds(times)
        for reading in core.series.streams(named: series.name, by: peerID) {
            try await seriesWriter.perform { [store = seriesWriter.store] in
                try reading.forEachTable(in: times, of: store) { table in
                    let samples: [RecordedSample<Sample>] = try Self.samples(in: table, times, by: reading.peerID)
                    if !samples.isEmpty { try body(samples) }
                }
            }
        }
    }

    nonisolated private static func microseconds(_ times: ClosedRange<Date>?) throws -> ClosedRange<Int64> {
        guard let times else { return -SampleTime.max...SampleTime.max }
        return try SampleTime.microseconds(times.lowerBound)...SampleTime.microseconds(times.upperBound)
    }

    nonisolated private static func samples<Sample: Codable & Sendable>(
        in table: SampleTable, _ times: ClosedRange<Int64>, by peerID: String
    ) throws -> [RecordedSample<Sample>] {
        let reader = SampleReader(table)
        return try table.times.indices.filter { times.contains(table.times[$0]) }.map { index in
            RecordedSample(
                value: try reader.sample(index), moment: SampleTime.date(table.times[index]), peerID: peerID)
        }
    }

    /// Returns sums, extremes and last values of the samples that this device holds, of all devices or one.
    /// Complexity: O(devices and launches, and samples not written yet).
    public func summary<Sample>(of series: Series<Sample>, by peerID: String? = nil) -> SeriesSummary {
        _ = seriesTurn
        return core.series.summary(named: series.name, by: peerID)
    }

    /// The status of every series: one for each device, launch and sample type.
    public var seriesStatuses: [SeriesStatus] {
        _ = seriesTurn
        return core.series.statuses
    }

    /// The store of series.
    private var seriesWriter: StoreWriter { writer ?? memory }

    // MARK: - For peers

    /// Reads samples that peers have requested and sends them, one peer after another.
    func serve(_ requests: [SeriesResponse]) {
        for request in requests.suffix(SeriesReplica.peersMax) { servings[request.receiver] = request }
        guard phase == .running, !isServing else { return }
        isServing = true
        servingTask.hold([
            Task { [weak self] in
                while !Task.isCancelled, let self, let (peerID, request) = self.servings.first {
                    self.servings[peerID] = nil
                    await self.answer(request)
                }
                if !Task.isCancelled { self?.isServing = false }
            }
        ])
    }

    private func answer(_ request: SeriesResponse) async {
        do {
            let messages = try await seriesWriter.perform {
                [store = seriesWriter.store, limit = core.seriesMessageBytes] in
                try request.messages(from: store, limit: limit)
            }
            for message in messages where !Task.isCancelled { await send(message) }
        } catch {
            // The peer requests the samples again.
            storeError = error
        }
    }
}
