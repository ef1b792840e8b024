import Foundation
package import MeshBenchmarks
import MeshBus
import MeshFixtures
import MeshGPX
public import MeshIdentity
import MeshToolOutput
import MeshWire

/// The table of codecs: every codec, with and without each compression and a connection's interning, on every payload,
/// against every limit.
package struct CodecBenchmark {
    static let benchmarkCase = BenchmarkCase(
        id: "codecs",
        summary: "A whole envelope through each codec: size, time, and how many times faster than Foundation's JSON",
        run: { context in try CodecBenchmark(context).rows() })

    let context: BenchmarkContext
    let payloads: [BenchmarkPayload]
    let codecs: [any PayloadCodec]
    let compressions: [FrameCompression]
    private let limits: [PayloadLimit]
    private let compared: [ComparedForm]
    private let stopwatch: BenchmarkStopwatch

    /// - Throws: `ToolError` if the options name an unknown payload or an unreadable recording.
    package init(_ context: BenchmarkContext) throws {
        self.context = context
        // In the table `json` means the whole envelope in Foundation's JSON, the reference for the others.
        codecs = context.contributions(to: .codecs).map(\.value).filter { $0.id.name != "json" }
        compressions = FrameCompression.all(context.contributions(to: .compressionFormats).map(\.value))
        limits = context.descriptors.payloadLimits
        compared = context.contributions(to: .comparedForms).map(\.value)
        stopwatch = BenchmarkStopwatch(
            batchDuration: context.stopwatch.batchDuration, batchCount: context.stopwatch.batchCount,
            now: ThreadTime.now)
        var payloads = context.contributions(to: .benchmarkPayloads).map(\.value)
        if let path = context.options["gpx"] {
            let track = try BenchmarkPayload(recordingAt: path)
            payloads = payloads.map { $0.id == track.id ? track : $0 }
        }
        if let name = context.options["payload"] {
            let ids = payloads.map(\.id)
            payloads.removeAll { $0.id != name }
            if payloads.isEmpty { throw ToolError("there is no payload '\(name)'; there are: \(ids.list)") }
        }
        self.payloads = payloads
    }

    package func rows() throws -> [BenchmarkRow] { try payloads.flatMap(rows) }

    private func rows(of payload: BenchmarkPayload) throws -> [BenchmarkRow] {
        // By concrete type, so that the compiler specializes the measured code as in an app.
        switch payload.value {
        case let event as SampleEvent: try rowsWithDirect(of: payload, event)
        case let metrics as SampleMetrics: try rowsWithDirect(of: payload, metrics)
        case let workout as SampleWorkout: try rowsWithDirect(of: payload, workout)
        case let track as SampleTrack: try rowsWithDirect(of: payload, track)
        case let record as SampleRecord: try rowsWithoutDirect(of: payload, record)
        case let document as SampleDocument: try rowsWithoutDirect(of: payload, document)
        case let value as any Codable & Equatable & Sendable & WireValue: try rowsWithDirect(of: payload, value)
        default: try rowsWithoutDirect(of: payload, payload.value)
        }
    }

    private func rowsWithDirect<Value: Codable & Equatable & Sendable & WireValue>(
        of payload: BenchmarkPayload, _ value: Value
    ) throws -> [BenchmarkRow] {
        try rows(of: payload, value, EnvelopeForm.allWithDirect(codecs, compressions))
    }

    private func rowsWithoutDirect<Value: Codable & Equatable & Sendable>(
        of payload: BenchmarkPayload, _ value: Value
    ) throws -> [BenchmarkRow] {
        try rows(of: payload, value, EnvelopeForm.all(codecs, compressions))
    }

    private func rows<Value: Codable & Equatable & Sendable>(
        of payload: BenchmarkPayload, _ value: Value, _ forms: [EnvelopeForm<Value>]
    ) throws -> [BenchmarkRow] {
        let envelope = SessionSyncEnvelope(
            metadata: .benchmarkSample(payloadType: "sample.\(payload.id)"), payload: value)
        context.report("\(payload.id): encoding and decoding")
        let compared = compared.filter { $0.payload == payload.id }
        let timings = try timings(of: forms, envelope, compared)
        let table = TimingTable(reference: timings[0], compared: Array(timings.dropFirst(forms.count)))
        let own = try zip(forms, timings).map { form, timing in
            context.report("\(payload.id): what fits as \(form.name)")
            let capacity = try CodecSize(limits: limits, bytes: timing.bytes).capacity(of: payload.samples) {
                (value: Value) in
                try form.encode(SessionSyncEnvelope(metadata: envelope.metadata, payload: value)).count
            }
            return table.row(of: payload.id, timing, limits: limits, capacity: capacity)
        }
        return own + table.compared.map { table.row(of: payload.id, $0, limits: limits, capacity: [:]) }
    }

    /// Measures bytes and nanoseconds of each form, our own ones first. All forms take turns.
    /// - Throws: An error of a form, or `ToolError` if a form doesn't decode what it encoded.
    func timings<Value: Codable & Equatable & Sendable>(
        of forms: [EnvelopeForm<Value>], _ envelope: SessionSyncEnvelope<Value>, _ compared: [ComparedForm] = []
    ) throws -> [CodecTiming] {
        let encoded = try forms.map { try $0.encode(envelope) }
        for (form, bytes) in zip(forms, encoded) where try form.decode(bytes) != envelope {
            throw ToolError("\(form.name) can't decode its own output; run its conformance rules")
        }
        let others = try compared.map { try $0.makeOperations() }
        let encode = try stopwatch.nanoseconds(
            takingTurns: forms.map { form in { _ = try form.encode(envelope) } } + others.map(\.encode))
        let decode = try stopwatch.nanoseconds(
            takingTurns: zip(forms, encoded).map { form, bytes in { _ = try form.decode(bytes) } }
                + others.map(\.decode))
        let names = forms.map(\.name) + compared.map(\.name)
        let sizes = encoded.map(\.count) + others.map(\.bytes)
        return names.indices.map {
            CodecTiming(name: names[$0], bytes: sizes[$0], encode: encode[$0], decode: decode[$0])
        }
    }
}

struct CodecTiming {
    let name: String
    let bytes: Int
    /// Nanoseconds for encoding.
    let encode: Double
    let decode: Double
}

/// Creates rows that compare each form with JSON and with the forms of other libraries.
private struct TimingTable {
    let reference: CodecTiming
    let compared: [CodecTiming]

    func row(
        of payload: String, _ timing: CodecTiming, limits: [PayloadLimit], capacity: [String: Int]
    ) -> BenchmarkRow {
        let size = CodecSize(limits: limits, bytes: timing.bytes)
        var fields: [BenchmarkRow.Field] = [
            .init(name: "payload", value: .text(payload)), .init(name: "codec", value: .text(timing.name)),
            .init(name: "bytes", value: .integer(timing.bytes)),
            .init(name: "encodeNanoseconds", value: .number(timing.encode)),
            .init(name: "decodeNanoseconds", value: .number(timing.decode)),
        ]
        fields += ratios(of: timing, to: reference, name: "JSON")
        for other in compared { fields += ratios(of: timing, to: other, name: other.name.capitalized) }
        fields += [
            .init(name: "fits", value: .flags(size.fits)), .init(name: "frames", value: .integers(size.frames)),
            .init(name: "capacity", value: .integers(capacity)),
        ]
        return BenchmarkRow(fields: fields)
    }

    private func ratios(of timing: CodecTiming, to other: CodecTiming, name: String) -> [BenchmarkRow.Field] {
        [
            .init(name: "encodeVs\(name)", value: .number(other.encode / timing.encode)),
            .init(name: "decodeVs\(name)", value: .number(other.decode / timing.decode)),
        ]
    }
}

/// A size in relation to each limit.
struct CodecSize {
    let limits: [PayloadLimit]
    let bytes: Int

    var fits: [String: Bool] { byLimit { bytes <= $0.bytes } }

    /// Number of frames for the size by limit: one, or the number of fragments. Limits below a fragment's minimum are left out.
    var frames: [String: Int] {
        let frame = [UInt8](repeating: 0, count: bytes)
        return byLimit { limit in
            guard bytes > limit.bytes else { return 1 }
            guard limit.bytes >= FrameFragmenter.datagramBytesMin else { return nil }
            var fragmenter = FrameFragmenter(limit: limit)
            var count = 0
            do {
                try frame.withUnsafeBytes { try fragmenter.fragment($0) { _ in count += 1 } }
                return count
            } catch {
                return nil
            }
        }
    }

    /// Returns how many samples would fit, by limit. Empty if the payload isn't made of samples.
    ///
    /// Measured up to a mebibyte. Above it, calculated from the size of a sample.
    func capacity<Value>(
        of samples: BenchmarkPayload.Samples?, size: (Value) throws -> Int
    ) throws -> [String: Int] {
        guard let samples else { return [:] }
        var known: [Int: Int] = [:]
        func sizeOf(_ count: Int) throws -> Int {
            if let size = known[count] { return size }
            guard let value = samples.payload(count) as? Value else { return .max }
            let size = try size(value)
            known[count] = size
            return size
        }

        let none = (count: 0, size: try sizeOf(0))
        let all = (count: samples.count, size: bytes)
        return try byLimit { limit in
            limit.bytes <= Self.measuredBytesMax
                ? try Capacity.largestCount(within: limit.bytes, size: sizeOf)
                : Capacity.count(at: limit.bytes, between: none, and: all)
        }
    }

    private func byLimit<Value>(_ value: (PayloadLimit) throws -> Value?) rethrows -> [String: Value] {
        var values: [String: Value] = [:]
        for limit in limits { values[limit.id] = try value(limit) }
        return values
    }

    private static let measuredBytesMax = 1 << 20
}

extension BenchmarkPayload {
    /// Creates the payload `track` from a GPX recording.
    /// - Throws: `ToolError` if the file can't be read or has no timed points.
    init(recordingAt path: String) throws {
        let points: [GPXPoint]
        do {
            points = try GPXRecording(path: path).timedPoints
        } catch {
            throw ToolError("\(error)")
        }
        guard !points.isEmpty else { throw ToolError("'\(path)' has no points with a time; name another recording") }
        let samples = Samples(count: points.count) { SampleTrack(points, count: $0) }
        self.init(id: "track", value: samples.payload(samples.count), samples: samples)
    }
}

extension SessionSyncMetadata {
    /// Returns metadata like an engine's in the middle of a workout.
    public static func benchmarkSample(payloadType: String) -> SessionSyncMetadata {
        let bytes: uuid_t = (
            0x6B, 0xA7, 0xB8, 0x10, 0x9D, 0xAD, 0x41, 0xD1, 0x80, 0xB4, 0, 0xC0, 0x4F, 0xD4, 0x30, 0xC8
        )
        return SessionSyncMetadata(
            sessionID: UUID(uuid: bytes), featureID: "workout.live", sourcePeerID: "watch-8F21C0", sequence: 18_233,
            causalTimestamp: SamplePayloads.start, monotonicTimestamp: 85_791.375, payloadType: payloadType,
            acknowledgedSequence: 18_230,
            stamp: HybridTimestamp(milliseconds: 1_763_103_545_678, counter: 2), incarnation: 0x5EED_C0DE)
    }
}
