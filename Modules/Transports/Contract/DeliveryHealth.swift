/// The health of a connection to a peer, judged by its answers and never by the platform's claims.
public enum DeliveryHealth: String, Hashable, Sendable, Codable {
    /// A round trip has come back on this connection, and nothing is overdue.
    case reachable
    /// The peer has not answered a probe in time.
    case degraded
    /// There is no connection, or several probes in a row weren't answered (three or five, depending on the link and
    /// the peer). Only a round trip ends this state.
    case gone
}
