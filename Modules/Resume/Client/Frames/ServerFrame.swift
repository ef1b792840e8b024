import Foundation

/// A frame from a gateway, as a client reads it. Readers ignore unknown fields and operations.
public struct ServerFrame: Sendable {
    /// The event to pass to the coordinator; nil for an unknown operation.
    public let event: IncomingEvent?
    /// The type of the app's event; nil for a frame that carries none.
    public let type: String?
    /// Come again no sooner than this (`reconnect`).
    public let retryAfter: Duration?
    /// JSON: the frame, or what it carries.
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
            throw FrameError(.decodeError, "this is no frame: \(error)")
        }
    }

    /// The payload of an app's event, or READY with the fields that the server's app adds.
    public func payload<Value: Decodable>(as _: Value.Type = Value.self) throws -> Value {
        guard isWhole else { return try JSONDecoder().decode(Value.self, from: json) }
        return try JSONDecoder().decode(Carrier<Value>.self, from: json).d
    }

    init(event: IncomingEvent?, type: String? = nil, retryAfter: Duration? = nil, payload: Data = Data()) {
        (self.event, self.type, self.retryAfter) = (event, type, retryAfter)
        (json, isWhole) = (payload, false)
    }

    /// An hour at most.
    static func wait(milliseconds: Double) -> Duration { .milliseconds(Int64(min(max(milliseconds, 0), 3_600_000))) }
}

private struct Carrier<Value: Decodable>: Decodable { let d: Value }

private struct Content: Decodable {
    struct Hello: Decodable {
        let interval: Double

        enum CodingKeys: String, CodingKey { case interval = "heartbeat_interval" }
    }

    struct Ready: Decodable {
        let sessionID: String

        enum CodingKeys: String, CodingKey { case sessionID = "session_id" }
    }

    struct Resumed: Decodable { let replayed: Int, seq: UInt64 }

    struct Reconnect: Decodable {
        let wait: Double?

        enum CodingKeys: String, CodingKey { case wait = "retry_after" }
    }

    var event: IncomingEvent?
    var type: String?
    var retryAfter: Duration?

    init(from decoder: any Decoder) throws {
        let frame = try decoder.container(keyedBy: FrameKey.self)
        switch FrameOperation(rawValue: try frame.decode(Int.self, forKey: .op)) {
        case .dispatch: try readDispatch(frame)
        case .hello:
            event = .hello(heartbeatInterval: try frame.decode(Hello.self, forKey: .d).interval / 1000)
        case .heartbeatAck: event = .heartbeatAck
        case .invalidSession:
            let resumable = try frame.decodeIfPresent(Bool.self, forKey: .d) ?? false
            event = .invalidSession(
                reason: try frame.decodeIfPresent(String.self, forKey: .reason), resumable: resumable)
        case .reconnect:
            event = .reconnect
            let milliseconds = try frame.decodeIfPresent(Reconnect.self, forKey: .d)?.wait
            retryAfter = milliseconds.map { ServerFrame.wait(milliseconds: $0) }
        case .ready, .resumed, .heartbeat, .identify, .resume, nil: break
        }
    }

    private mutating func readDispatch(_ frame: KeyedDecodingContainer<FrameKey>) throws {
        let type = try frame.decode(String.self, forKey: .t)
        switch type {
        case "READY":
            let ready = try frame.decode(Ready.self, forKey: .d)
            event = .ready(sessionId: ready.sessionID, initialSeq: try frame.decode(UInt64.self, forKey: .s))
        case "RESUMED":
            let resumed = try frame.decode(Resumed.self, forKey: .d)
            event = .resumed(replayedCount: resumed.replayed, currentSeq: resumed.seq)
        default:
            self.type = type
            event = .pushEvent(seq: try frame.decode(UInt64.self, forKey: .s))
        }
    }
}
