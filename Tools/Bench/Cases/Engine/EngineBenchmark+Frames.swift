import MeshEngine
import MeshFoundation
import MeshIdentity
import MeshWire

/// Two engines, one of which reads the other's events from frames.
struct FramePair: ~Copyable {
    enum Form {
        /// Frames of a connection on which identities are interned.
        case interned
        /// Frames that can be read on their own.
        case selfContained
    }

    private let form: Form
    private var pair: Pair
    private var encoder: FrameEncoder
    private var stream: FrameStreamDecoder
    private var datagrams: FrameDecoder

    init(_ form: Form) throws {
        let codecs = try CodecTable([CompactCodec()])
        pair = try Pair()
        self.form = form
        encoder = FrameEncoder(codec: CompactCodec(), compression: .stored, interning: form != .selfContained)
        stream = FrameStreamDecoder(codecs: codecs)
        datagrams = FrameDecoder(codecs: codecs)
    }

    /// Measures the receiver.
    /// - Returns: Time from bytes to applied events.
    mutating func receive(count: Int) throws -> Duration {
        var frames: [[UInt8]] = []
        for envelope in try pair.envelopes(count: count) {
            var writer = WireWriter()
            try encoder.append(.envelope(try AnySessionSyncEnvelope(envelope)), to: &writer)
            frames.append(writer.array())
        }
        let time =
            switch form {
            case .interned: try receiveInterned(frames.flatMap { $0 }, count)
            case .selfContained: try receiveSelfContained(frames)
            }
        try pair.settle()
        return time
    }

    private mutating func receiveInterned(_ bytes: [UInt8], _ count: Int) throws -> Duration {
        let start = ContinuousClock.now
        stream.append(bytes)
        for _ in 0..<count { try receive(try stream.next()) }
        return ContinuousClock.now - start
    }

    private mutating func receiveSelfContained(_ frames: [[UInt8]]) throws -> Duration {
        let start = ContinuousClock.now
        for frame in frames { try receive(try datagrams.decode(frame)) }
        return ContinuousClock.now - start
    }

    private mutating func receive(_ message: WireMessage?) throws {
        guard case .envelope(let erased)? = message else { throw NotApplied() }
        let payload = try erased.decodePayload(as: Int.self)
        try pair.receive(SessionSyncEnvelope(metadata: erased.metadata, payload: payload))
    }
}
