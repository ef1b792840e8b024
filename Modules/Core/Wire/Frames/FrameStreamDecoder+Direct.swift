public import MeshIdentity

/// What `FrameStreamDecoder.next(_:payloadType:)` has read.
public enum TypedMessage<Event: Codable & Sendable>: Sendable {
    /// An envelope of the payload type that was asked for.
    case event(SessionSyncEnvelope<Event>)
    /// Every other message, as `next()` hands it out: of a frame with a mark, without it.
    case other(WireMessage)
}

extension FrameStreamDecoder {
    /// The next message; an event of the direct path of `compact` is read by its type, in place: nothing is erased,
    /// looked up or copied on the way, and nothing allocated but what the event itself holds. nil when more bytes are
    /// needed.
    ///
    /// Calls of this and of `next()` may alternate, and fail alike. Whatever is not such an event is erased: other kinds
    /// and payload types, other codecs, payloads whose names the connection remembers, what follows a frame that was
    /// skipped or a piece of one, and a payload that `Event` cannot be read from. `decodePayload` then reads it, or says
    /// what is wrong. A frame with a mark is erased too, and its mark is lost: where marks count, use `nextFrame()`.
    /// - Parameter payloadType: that of the events' metadata.
    /// - Throws: what `next()` throws; then the stream is dead.
    @inlinable
    public mutating func next<Event: Codable & Sendable & WireValue>(
        _ type: Event.Type, payloadType: String
    ) throws(WireError) -> TypedMessage<Event>? {
        guard let (metadata, payload) = try openEnvelope() else {
            guard let message = try next() else { return nil }
            return .other(message)
        }
        defer { closeEnvelope() }
        guard metadata.payloadType == payloadType, let event = try? read(type, payload) else {
            return .other(try erased(metadata, payload))
        }
        return .event(SessionSyncEnvelope(metadata: metadata, payload: event))
    }

    @inlinable @inline(__always)
    mutating func read<Event: WireValue>(_ type: Event.Type, _ payload: OpenedPayload) throws(WireError) -> Event {
        try reader.begin(payload.bytes, depthMax: directDepthMax)
        defer { reader.forgetTexts() }
        let event = try Event(wire: try reader.readFirstKind(), from: &reader)
        try reader.checkEnd()
        return event
    }
}
