import MeshResume
internal import MeshWire

/// A frame from a gateway. The app's JSON is inserted unchanged.
enum GatewayFrame {
    case hello(Duration)
    case heartbeatAck
    case ready(GatewaySessionID, newest: UInt64, ReadyFields)
    /// Carries no sequence, because a client that adopts every sequence it sees would skip the replay.
    case resumed(replayed: UInt64, newest: UInt64)
    case event(ReplayEntry)
    case invalidSession(String, resumable: Bool)
    case reconnect(after: Duration)

    func encoded(as encoding: FrameEncoding) -> [UInt8] {
        switch encoding {
        case .json: json
        case .binary: binary
        }
    }

    private static func milliseconds(_ duration: Duration) -> UInt64 {
        UInt64(clamping: Int64(min(max(duration, .zero), .seconds(86_400)) / .milliseconds(1)))
    }
}

/// An event's frame, encoded once per encoding for all connections of its user.
struct SharedFrame {
    private let entry: ReplayEntry
    private var made: [FrameEncoding: [UInt8]] = [:]

    init(_ entry: ReplayEntry) { self.entry = entry }

    mutating func encoded(as encoding: FrameEncoding) -> [UInt8] {
        if let bytes = made[encoding] { return bytes }
        let bytes = GatewayFrame.event(entry).encoded(as: encoding)
        made[encoding] = bytes
        return bytes
    }
}

// MARK: - JSON

extension GatewayFrame {
    private var json: [UInt8] {
        switch self {
        case .hello(let interval):
            Self.text(.hello, "{\"heartbeat_interval\":\(Self.milliseconds(interval))}")
        case .heartbeatAck: Self.text(.heartbeatAck, "null")
        case .ready(let session, let newest, let fields):
            Self.dispatch(
                "READY", sequence: newest,
                Array("{\"session_id\":\"\(session.text)\"\(fields.json.isEmpty ? "" : ",")".utf8) + fields.json
                    + [UInt8(ascii: "}")])
        case .resumed(let count, let newest):
            Self.dispatch("RESUMED", sequence: nil, Array("{\"replayed\":\(count),\"seq\":\(newest)}".utf8))
        case .event(let entry): Self.dispatch(entry.event.type, sequence: entry.sequence, entry.event.json)
        case .invalidSession(let reason, let resumable):
            Self.text(.invalidSession, "\(resumable),\"reason\":\(JSONText.quoted(reason))")
        case .reconnect(let wait): Self.text(.reconnect, "{\"retry_after\":\(Self.milliseconds(wait))}")
        }
    }

    private static func text(_ operation: FrameOperation, _ data: String) -> [UInt8] {
        Array("{\"op\":\(operation.rawValue),\"d\":\(data)}".utf8)
    }

    private static func dispatch(_ type: String, sequence: UInt64?, _ data: [UInt8]) -> [UInt8] {
        let number = sequence.map(String.init) ?? "null"
        let head = "{\"op\":\(FrameOperation.dispatch.rawValue),\"s\":\(number),\"t\":\"\(type)\",\"d\":"
        var frame: [UInt8] = []
        frame.reserveCapacity(head.utf8.count + data.count + 1)
        frame += head.utf8
        frame += data
        frame.append(UInt8(ascii: "}"))
        return frame
    }
}

// MARK: - Binary

extension GatewayFrame {
    private var binary: [UInt8] {
        var writer = WireWriter(capacity: 64)
        switch self {
        case .hello(let interval):
            writer.write(FrameOperation.hello)
            writer.writeVarint(Self.milliseconds(interval))
        case .heartbeatAck: writer.write(FrameOperation.heartbeatAck)
        case .ready(let session, let newest, let fields):
            writer.write(FrameOperation.ready)
            writer.writeVarint(newest)
            writer.write(session.text)
            writer.writeRaw([UInt8(ascii: "{")] + fields.json + [UInt8(ascii: "}")])
        case .resumed(let count, let newest):
            writer.write(FrameOperation.resumed)
            writer.writeVarint(count)
            writer.writeVarint(newest)
        case .event(let entry):
            writer.write(FrameOperation.dispatch)
            writer.writeVarint(entry.sequence)
            writer.write(entry.event.type)
            writer.writeRaw(entry.event.json)
        case .invalidSession(let reason, let resumable):
            writer.write(FrameOperation.invalidSession)
            writer.write(UInt8(resumable ? 1 : 0))
            writer.write(reason)
        case .reconnect(let wait):
            writer.write(FrameOperation.reconnect)
            writer.writeVarint(Self.milliseconds(wait))
        }
        return writer.array()
    }
}
