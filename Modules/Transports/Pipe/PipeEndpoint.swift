/// The place where a pipe finds its other side.
public enum PipeEndpoint: Hashable, Sendable {
    /// A pair of descriptors: two pipes, or one socket. A file or /dev/null works as input, but ends soon. With
    /// `closes`, both are closed when the connection has ended, or with the link.
    case descriptors(input: Int32, output: Int32, closes: Bool)
    /// A Unix socket at that path, made by this side; others connect. Up to `PipeLink.connectionsMax` at a time.
    case listening(path: String)
    /// A Unix socket at that path, which another process made. The link connects again and again until it is closed.
    case connecting(path: String)
    /// A path of a Unix socket at which peers meet. The first one listens, the others connect. If the listener goes
    /// away, another peer listens.
    case meeting(path: String)

    /// Standard input and output, as connected by a parent process.
    public static let standardStreams = PipeEndpoint.descriptors(input: 0, output: 1, closes: false)
}
