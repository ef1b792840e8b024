/// The counters of a gateway since it started.
public struct GatewayCounts: Hashable, Sendable {
    /// The number of open sockets.
    public var connections = 0
    /// The number of sockets that became WebSockets.
    public var accepted = 0
    /// The number of frames received from clients of streams. Frames of mailboxes aren't counted.
    public var framesReceived = 0
    /// The number of frames sent to clients of streams. Frames of mailboxes aren't counted.
    public var framesSent = 0
    /// The number of bytes in the frames sent to clients of streams.
    public var bytesSent = 0
    /// The number of bytes in frames that no socket has taken yet.
    public var unsentBytes = 0
    /// The number of identify and resume frames that the app was asked about.
    public var handshakes = 0
    /// The number of pages read from the buffer.
    public var pagesRead = 0
    /// The number of events that this process has appended.
    public var published = 0
    /// The number of requests that the app or a store couldn't answer.
    public var unanswered: [GatewayProblem.Source: Int] = [:]
    /// The number of connections that the gateway closed, by close code.
    public var closed: [UInt16: Int] = [:]

    /// The counters in Prometheus text format, version 0.0.4.
    public var text: String {
        var lines = [
            Self.lines("connections", "gauge", "Open sockets.", connections),
            Self.lines("accepted_total", "counter", "Sockets that became WebSockets.", accepted),
            Self.lines("frames_received_total", "counter", "Frames received from clients.", framesReceived),
            Self.lines("frames_sent_total", "counter", "Frames sent to clients.", framesSent),
            Self.lines("sent_bytes_total", "counter", "Bytes in frames sent to clients.", bytesSent),
            Self.lines("unsent_bytes", "gauge", "Bytes waiting for sockets.", unsentBytes),
            Self.lines(
                "handshakes_total", "counter", "Identify and resume frames that the app was asked about.", handshakes),
            Self.lines("pages_read_total", "counter", "Pages read from the buffer.", pagesRead),
            Self.lines("published_total", "counter", "Events that this process appended.", published),
        ]
        lines.append("# HELP sessionmesh_gateway_unanswered_total Questions that the app or a store couldn't answer.\n")
        lines.append("# TYPE sessionmesh_gateway_unanswered_total counter\n")
        for source in [GatewayProblem.Source.app, .events, .mailboxes] {
            lines.append(
                "sessionmesh_gateway_unanswered_total{source=\"\(source)\"} \(unanswered[source, default: 0])\n")
        }
        lines.append("# HELP sessionmesh_gateway_closed_total Sockets that the gateway closed.\n")
        lines.append("# TYPE sessionmesh_gateway_closed_total counter\n")
        for (code, count) in closed.sorted(by: { $0.key < $1.key }) {
            lines.append("sessionmesh_gateway_closed_total{code=\"\(code)\"} \(count)\n")
        }
        return lines.joined()
    }

    private static func lines(_ name: String, _ kind: String, _ help: String, _ value: Int) -> String {
        let name = "sessionmesh_gateway_" + name
        return "# HELP \(name) \(help)\n# TYPE \(name) \(kind)\n\(name) \(value)\n"
    }
}
