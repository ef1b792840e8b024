/// The place at which a pipe finds its other side.
public enum PipeEndpoint: Hashable, Sendable {
    /// A pair of descriptors: two pipes, or a socket that is both. A file or /dev/null works as input: it ends soon. With
    /// `closes` both are closed once the connection has ended, or with the link.
    case descriptors(input: Int32, output: Int32, closes: Bool)
    /// A Unix socket at that path, made here; others connect. Up to `PipeLink.connectionsMax` at a time.
    case listening(path: String)
    /// Connects to a Unix socket at that path, again and again until the link is closed.
    case connecting(path: String)
    /// A path of a Unix socket at which peers meet. The first to come listens, the others connect. If the listener
    /// goes, another takes its place.
    case meeting(path: String)

    /// Standard input and output, as a parent process wires them.
    public static let standardStreams = PipeEndpoint.descriptors(input: 0, output: 1, closes: false)
}
