import MeshResume

/// The frames that a gateway sends, as text. An app's payload goes in as it was given.
enum ServerText {
    static func hello(_ interval: Duration) -> [UInt8] {
        text(.hello, "{\"heartbeat_interval\":\(max(0, Int64(interval / .milliseconds(1))))}")
    }

    static var heartbeatAck: [UInt8] { text(.heartbeatAck, "null") }

    static func ready(_ session: GatewaySessionID, newest: UInt64) -> [UInt8] {
        dispatch("READY", "{\"session_id\":\"\(session.text)\"}", sequence: newest)
    }

    /// Without a sequence of its own: a client that takes over every sequence it sees would else skip the replay.
    static func resumed(replayed count: UInt64, newest: UInt64) -> [UInt8] {
        dispatch("RESUMED", "{\"replayed\":\(count),\"seq\":\(newest)}", sequence: nil)
    }

    static func event(_ entry: ReplayEntry) -> [UInt8] {
        let head = "{\"op\":0,\"s\":\(entry.sequence),\"t\":\"\(entry.event.type)\",\"d\":"
        var frame: [UInt8] = []
        frame.reserveCapacity(head.utf8.count + entry.event.json.count + 1)
        frame += head.utf8
        frame += entry.event.json
        frame.append(UInt8(ascii: "}"))
        return frame
    }

    static func invalidSession(_ reason: String, resumable: Bool) -> [UInt8] {
        Array("{\"op\":9,\"d\":\(resumable),\"reason\":\(JSONText.quoted(reason))}".utf8)
    }

    static func reconnect(after wait: Duration) -> [UInt8] {
        text(.reconnect, "{\"retry_after\":\(max(0, Int64(wait / .milliseconds(1))))}")
    }

    private static func text(_ operation: FrameOperation, _ data: String) -> [UInt8] {
        Array("{\"op\":\(operation.rawValue),\"d\":\(data)}".utf8)
    }

    private static func dispatch(_ type: String, _ data: String, sequence: UInt64?) -> [UInt8] {
        Array("{\"op\":0,\"s\":\(sequence.map(String.init) ?? "null"),\"t\":\"\(type)\",\"d\":\(data)}".utf8)
    }
}
