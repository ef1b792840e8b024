import Foundation

/// A frame from a gateway, as a client reads it. Readers ignore unknown fields and operations.
public struct ServerFrame: Sendable {
    /// The event to pass to the coordinator; nil for an unknown operation.
    public let event: IncomingEvent?
    /// The type of the app's event; nil for other frames.
    public let type: String?
    /// Minimum time to wait before reconnecting (`reconnect`).
    public let retryAfter: Duration?
    /// The JSON of the frame if `isWhole`, otherwise of its payload only.
    private let json: Data
    private let isWhole: Bool

    /// Reads a gateway's frame from JSON in UTF-8.
    ///
    /// - Throws: `FrameError` with `decodeError`.
    public init(json: some Sequence<UInt8>) throws(FrameError) {
        (self.json, isWhole) = (Data(json), true)
        do {
            let frame = try JSONDecoder().decode(Content.self, from: self.json)
            (event, type, retryAfter) = (frame.event, frame.type, frame.retryAfter)
        } catch {
            throw FrameError(json: error)
        }
    }

    /// Decodes the payload of an app's event, or of READY with the fields that the server's app adds.
    public func payload<Value: Decodable>(as _: Value.Type = Value.self) throws -> Value {
        guard isWhole else { return try JSONDecoder().decode(Value.self, from: json) }
        return try JSONDecoder().decode(Carrier<Value>.self, from: json).d
    }

    init(event: IncomingEvent?, type: String? = nil, retryAfter: Duration? = nil, payload: Data = Data()) {
        (self.event, self.type, self.retryAfter) = (event, type, retryAfter)
        (json, isWhole) = (payload, false)
    }

    /// Clamps a wait to at most an hour.
    static func wait(milliseconds: Double) -> Duration { .milliseconds(Int64(min(max(milliseconds, 0), 3_600_000))) }
}

private struct Carrier<Value: Decodable>: Decodable { let d: Value }

private struct Content: Decodable {
    private enum DataKey: String, CodingKey {
        case replayed, seq
        case interval = "heartbeat_interval"
        case sessionID = "session_id"
        case wait = "retry_after"
    }

    var event: IncomingEvent?
    var type: String?
    var retryAfter: Duration?

    init(from decoder: any Decoder) throws {
        let frame = try decoder.container(keyedBy: FrameKey.self)
        switch FrameOperation(rawValue: try frame.integer(.op)) {
        case .dispatch: try readDispatch(frame)
        case .hello:
            let data = try frame.object(.d, keyedBy: DataKey.self)
            event = .hello(heartbeatInterval: try data.field(Double.self, .interval, "a number") / 1000)
        case .heartbeatAck: event = .heartbeatAck
        case .invalidSession:
            let isResumable = try frame.isPresent(.d) && frame.field(Bool.self, .d, "true or false")
            event = .invalidSession(reason: try frame.stringIfPresent(.reason), resumable: isResumable)
        case .reconnect:
            event = .reconnect
            if let data = try frame.objectIfPresent(.d, keyedBy: DataKey.self), data.isPresent(.wait) {
                retryAfter = ServerFrame.wait(milliseconds: try data.field(Double.self, .wait, "a number"))
            }
        case .ready, .resumed, .heartbeat, .identify, .resume, nil: break
        }
    }

    private mutating func readDispatch(_ frame: KeyedDecodingContainer<FrameKey>) throws {
        let type = try frame.string(.t)
        switch type {
        case "READY":
            let data = try frame.object(.d, keyedBy: DataKey.self)
            event = .ready(sessionId: try data.string(.sessionID), initialSeq: try frame.sequence(.s))
        case "RESUMED":
            let data = try frame.object(.d, keyedBy: DataKey.self)
            event = .resumed(replayedCount: try data.integer(.replayed), currentSeq: try data.sequence(.seq))
        default:
            self.type = type
            event = .pushEvent(seq: try frame.sequence(.s))
        }
    }
}
