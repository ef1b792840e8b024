/// How a peer is, judged by what it answers and never by what a platform claims.
public enum DeliveryHealth: String, Hashable, Sendable, Codable {
    /// A round trip has come back on this connection, and nothing is overdue.
    case reachable
    /// It has not answered a probe in time.
    case degraded
    /// There is no connection, or three probes in a row were not answered. Only a round trip ends that.
    case gone
}
