import MeshFoundation
package import MeshIdentity
import MeshWire

/// An authenticated peer that lies and floods, for fuzzing and simulation. Seven bytes choose a run of frames.
package struct LyingPeer: Sendable {
    private static let numbers: [UInt64] = [
        0, 1, 2, 3, 60, 4095, 4096, 1 << 32, (1 << 62) - 1, 1 << 62, UInt64(Int64.max), .max - 1, .max,
    ]
    private static let sizes = [0, 14, 1000, 60_000, 0, 14, 1000, 1_000_000]
    /// Maximum number of payload bytes in a run, above every budget.
    private static let runPayloadMax = 128_000_000
    package static let runBytes = 7

    package let peer: SessionPeer
    /// The peer IDs that it uses as a message's source; its own first.
    private let names: [String]

    package init(_ id: String, as others: String...) {
        peer = SessionPeer(id: id, deviceClass: .unknown, appInstanceID: "1", topology: .sameHost)
        names = [id] + others
    }

    package var greeting: [[UInt8]] { frame(.hello(WireHello(peer: peer, codecs: Array(0...255))), nil) }

    /// Returns the frames of one run.
    /// - Parameter run: seven bytes that choose, in this order: the kind; the number of frames, divided by 8; the first
    ///   sequence; its step; the features and the outbox; the sender; the payload size.
    package func frames(_ run: UnsafeRawBufferPointer) -> [[UInt8]] {
        guard run.count == Self.runBytes else { return [] }
        func choose<Value>(_ values: [Value], _ byte: UInt8) -> Value { values[Int(byte) % values.count] }
        let (first, step) = (choose(Self.numbers, run[2]), UInt64(run[3] % 3))
        let (features, outbox) = (UInt64(run[4] & 63) * 20 + 1, UInt32(run[4] >> 6))
        let size = choose(Self.sizes, run[6])
        let payload = EncodedPayload(bytes: [UInt8](repeating: 1, count: size), codec: CompactCodec())
        return (0...min(UInt64(run[1]) * 8, UInt64(Self.runPayloadMax / max(size, 1)))).flatMap { index in
            let metadata = SessionSyncMetadata(
                sessionID: UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1)),
                featureID: "\(index % features)", sourcePeerID: choose(names, run[5]),
                sequence: first &+ index &* step, causalTimestamp: Date(timeIntervalSince1970: 0), payloadType: "lie")
            return frame(kind: run[0] % 6, metadata, outbox, payload)
        }
    }

    private func frame(
        kind: UInt8, _ metadata: SessionSyncMetadata, _ outbox: UInt32, _ payload: EncodedPayload
    ) -> [[UInt8]] {
        let number = metadata.sequence
        let snapshot = AnySessionSyncSnapshot(
            metadata: metadata, revision: number, peerSequenceVector: ["phone": .max], state: payload)
        let envelope = AnySessionSyncEnvelope(metadata: metadata, payload: payload)
        let mark = WireMark(outbox: outbox, sequence: number, first: min(number, 1))
        switch kind {
        case 0: return frame(.snapshot(snapshot), nil)
        case 1:
            let latest = WireMark(outbox: outbox, sequence: number, first: number, isLatest: true)
            return frame(.snapshot(snapshot), latest)
        case 2: return frame(.snapshot(snapshot), mark)
        case 3:
            let floor = WireReport.Floor(featureID: metadata.featureID, outbox: outbox, first: number)
            let receipt = WireReport.Receipt(featureID: metadata.featureID, outbox: outbox, upTo: number)
            return frame(.report(WireReport(receipts: [receipt], floors: [floor])), nil)
        case 4: return frame(.envelope(envelope), nil)
        default: return frame(.envelope(envelope), mark)
        }
    }

    /// Encodes a frame. Returns none if the encoder rejects the message. `FuzzTarget.frame` makes such frames: it needs
    /// no encoder.
    private func frame(_ message: WireMessage, _ mark: WireMark?) -> [[UInt8]] {
        var encoder = FrameEncoder(codec: CompactCodec(), compression: .stored, interning: false)
        return (try? encoder.encode(message, mark: mark)).map { [$0] } ?? []
    }
}
