import Foundation
import MeshBus
import MeshGPX
import MeshIdentity
import MeshTesting
import MeshWire

/// The table of codecs: every codec, with and without zlib, on every payload, against every limit.
struct CodecBenchmark {
    static let benchmarkCase = BenchmarkCase(
        id: "codecs",
        summary: "A whole envelope through each codec: size, time, and how many times faster than Foundation's JSON",
        run: { context in try CodecBenchmark(context).rows() })

    private let context: BenchmarkContext
    private let payloads: [BenchmarkPayload]
    private let codecs: [any PayloadCodec]
    private let limits: [PayloadLimit]
    private let stopwatch: BenchmarkStopwatch

    /// - Throws: `ToolError` when the options name a payload that nobody offers or a recording that cannot be read.
    init(_ context: BenchmarkContext) throws {
        self.context = context
        // The name stands for the whole envelope in Foundation's JSON, the measure of the others.
        codecs = context.contributions(to: .codecs).map(\.value).filter { $0.id.name != "json" }
        limits = context.descriptors.payloadLimits
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

    func rows() throws -> [BenchmarkRow] { try payloads.flatMap(rows) }

    private func rows(of payload: BenchmarkPayload) throws -> [BenchmarkRow] {
        // By their own types, for which the compiler then specializes what is measured, as it does in an app.
        switch payload.value {
        case let event as SampleEvent: try rowsWithDirect(of: payload, event)
        case let metrics as SampleMetrics: try rowsWithDirect(of: payload, metrics)
        case let workout as SampleWorkout: try rowsWithDirect(of: payload, workout)
        case let track as SampleTrack: try rowsWithDirect(of: payload, track)
        case let value as any Codable & Equatable & Sendable & WireValue: try rowsWithDirect(of: payload, value)
        default: try rowsWithoutDirect(of: payload, payload.value)
        }
    }

    private func rowsWithDirect<Value: Codable & Equatable & Sendable & WireValue>(
        of payload: BenchmarkPayload, _ value: Value
    ) throws -> [BenchmarkRow] {
        try rows(of: payload, value, EnvelopeForm.allWithDirect(codecs))
    }

    private func rowsWithoutDirect<Value: Codable & Equatable & Sendable>(
        of payload: BenchmarkPayload, _ value: Value
    ) throws -> [BenchmarkRow] {
        try rows(of: payload, value, EnvelopeForm.all(codecs))
    }

    private func rows<Value: Codable & Equatable & Sendable>(
        of payload: BenchmarkPayload, _ value: Value, _ forms: [EnvelopeForm<Value>]
    ) throws -> [BenchmarkRow] {
        let envelope = SessionSyncEnvelope(metadata: .sample(payloadType: "sample.\(payload.id)"), payload: value)
        context.report("\(payload.id): encoding and decoding")
        let timings = try timings(of: forms, envelope)
        return try zip(forms, timings).map { form, timing in
            context.report("\(payload.id): what fits as \(form.name)")
            let size = CodecSize(limits: limits, bytes: timing.bytes)
            let capacity = try size.capacity(of: payload.samples) { (value: Value) in
                try form.encode(SessionSyncEnvelope(metadata: envelope.metadata, payload: value)).count
            }
            return [
                "payload": .text(payload.id), "codec": .text(form.name), "bytes": .integer(timing.bytes),
                "encodeNanoseconds": .number(timing.encode), "decodeNanoseconds": .number(timing.decode),
                "encodeVsJSON": .number(timings[0].encode / timing.encode),
                "decodeVsJSON": .number(timings[0].decode / timing.decode),
                "fits": .flags(size.fits), "frames": .integers(size.frames), "capacity": .integers(capacity),
            ]
        }
    }

    /// Bytes and nanoseconds of each form.
    /// - Throws: what the forms throw, and `ToolError` when the value does not survive one.
    private func timings<Value: Codable & Equatable & Sendable>(
        of forms: [EnvelopeForm<Value>], _ envelope: SessionSyncEnvelope<Value>
    ) throws -> [(bytes: Int, encode: Double, decode: Double)] {
        let encoded = try forms.map { try $0.encode(envelope) }
        for (form, bytes) in zip(forms, encoded) where try form.decode(bytes) != envelope {
            throw ToolError("\(form.name) does not decode what it encoded; run its conformance rules")
        }
        let encode = try stopwatch.nanoseconds(
            takingTurns: forms.map { form in { _ = try form.encode(envelope) } })
        let decode = try stopwatch.nanoseconds(
            takingTurns: zip(forms, encoded).map { form, bytes in { _ = try form.decode(bytes) } })
        return forms.indices.map { (encoded[$0].count, encode[$0], decode[$0]) }
    }
}

/// What a size means under each limit.
struct CodecSize {
    let limits: [PayloadLimit]
    let bytes: Int

    var fits: [String: Bool] { byLimit { bytes <= $0.bytes } }

    /// How many frames carry it: one, or as many fragments as it takes; none told where no number would do.
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

    /// How many samples would fit; empty when the payload is not made of samples.
    ///
    /// Measured up to a mebibyte, above it reckoned from the size of a sample.
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
    /// The payload `track`, made from a GPX recording.
    /// - Throws: `ToolError` for a file that cannot be read or has no timed points.
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
    /// As an engine writes it in the middle of a workout.
    fileprivate static func sample(payloadType: String) -> SessionSyncMetadata {
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
